"""Positional kernels: how much a head attends to each position, whatever stands there.

`measure.positional_kernels` walks a model over text; every other module holds pure float64 functions on arrays.
"""

from numerics.positional.measure import positional_kernels

__all__ = ["positional_kernels"]
