"""RoPE bands: how much each rotary frequency of a head holds, sharpens and matters.

`measure.band_metrics`, `pairs.measure.attribute` and `ablation.measure.ablate` walk a model over text; every other
module holds pure functions on arrays.
"""

from numerics.bands.ablation.measure import ablate
from numerics.bands.measure import band_metrics
from numerics.bands.pairs.measure import attribute

__all__ = ["ablate", "attribute", "band_metrics"]
