"""What each band of each key contributes to the attention of one query: `p_j` taken apart into keys × bands."""

from numerics.bands.attribution.products import PairAttribution, pair_attribution

__all__ = ["PairAttribution", "pair_attribution"]
