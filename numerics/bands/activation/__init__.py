"""Total activation of RoPE bands: `A[h, b] = Σ_i Σ_{j admissible} |σ·q_hi^b · k_gj^b|`, four paths behind one call.

`q_hi^b`, `k_gj^b` are the two dims of band b after rotation; head h reads kv head `g = h·G // H`. Query i may see the
keys j ≤ i, and of these only i − W < j with a window W.
"""

from numerics.bands.activation.chooser import choose
from numerics.bands.activation.total import row_activation, total_activation
from numerics.bands.activation.unrotated import unrotated_activation

__all__ = ["choose", "row_activation", "total_activation", "unrotated_activation"]
