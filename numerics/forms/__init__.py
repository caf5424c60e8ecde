"""Bilinear forms of attention heads: reduction, profile, spectra, random baseline.

`L = W_Kᵀ R_δ W_Q` is the form of a head (key on the left, query on the right, δ = query position − key position).
`measure.profile` walks a model; every other module holds pure float64 functions on arrays.
"""

from numerics.forms.measure import profile

__all__ = ["profile"]
