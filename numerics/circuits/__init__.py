"""Head circuits: what a head attends to on repeated tokens, what it copies, what it reads of earlier heads.

QK = W_QᵀW_K decides where a head looks, OV = W_O W_V what it writes. `measure.head_circuits` walks a model; every other
module holds pure float64 functions on arrays.
"""

from numerics.circuits.measure import head_circuits

__all__ = ["head_circuits"]
