"""How much each band of a head sharpens its attention: the entropy `H(p) − log N` of every query, shared over bands."""

from numerics.bands.entropy.by_parts import EntropyAttribution, entropy_attribution

__all__ = ["EntropyAttribution", "entropy_attribution"]
