"""Rational numbers inside numpy, so that a function written for float64 can be run without rounding.

Three ways, from the plainest:

- *as is*: the function itself, called with object arrays of `Exact`;
- *same code* (`exactly`): the function's own code with float64 taken out of its surroundings: `np.asarray(x, float64)`
  keeps its argument, `np.zeros` makes an object array, `float(x)` is x. A compiled loop is run as the Python it was
  written in;
- *float64*: the function as shipped, called with few-bit dyadic numbers of which sums and products don't round.

Nothing is trusted here: should a number be rounded somewhere, it is not the definition's value, and Lean refuses it.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Object array of `Exact`."""


def rational(value: Any) -> Fraction:
    """The rational number that `value` is: an integer, a fraction or a finite float. Raises TypeError for others."""
    if isinstance(value, Fraction):
        return Fraction(value.numerator, value.denominator)
    if isinstance(value, numbers.Integral):
        return Fraction(int(value))
    if isinstance(value, float):
        return Fraction(float(value))
    raise TypeError(f"no rational number: {value!r}")


@dataclass(frozen=True)
class Root:
    """A square root that is not taken: `square` is the number under it."""

    square: Fraction


def squared(value: Any) -> Any:
    """The square of what a function returned as a root."""
    return value.square if isinstance(value, Root) else value * value


class Exact(Fraction):
    """A fraction that stays one: a float it meets counts as the dyadic rational that it is."""

    def sqrt(self) -> Root:
        """What `np.sqrt` asks the entries of an object array for."""
        return Root(Fraction(self))


def _staying(name: str, operands: int) -> Callable[..., Any]:
    operation = getattr(Fraction, name)

    def unary(self: Fraction) -> Exact:
        return Exact(operation(self))

    def binary(self: Fraction, other: Any) -> Any:
        try:
            result = operation(Fraction(self), rational(other))
        except TypeError:
            return NotImplemented
        return Exact(result) if isinstance(result, Fraction) else result

    return unary if operands == 1 else binary


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow"):
    setattr(Exact, f"__{_name}__", _staying(f"__{_name}__", 2))
for _name in ("neg", "pos", "abs"):
    setattr(Exact, f"__{_name}__", _staying(f"__{_name}__", 1))


def exact(values: Any) -> Array:
    """Nested sequences, or an array, of rationals as an object array of `Exact`."""
    raw = np.asarray(values, dtype=object)
    found = np.empty(raw.shape, dtype=object)
    for index in np.ndindex(raw.shape):
        found[index] = Exact(rational(raw[index]))
    return found


class _Numpy:
    """numpy, but what would make or ask for float64 makes or keeps object arrays."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def asarray(values: Any, dtype: Any = None) -> Any:
        return exact(values) if dtype is np.float64 else np.asarray(values, dtype=dtype)

    @staticmethod
    def zeros(shape: Any) -> Array:
        return np.full(shape, Exact(0), dtype=object)

    @staticmethod
    def full(shape: Any, value: Any) -> Array:
        return np.full(shape, Exact(rational(value)), dtype=object)

    @staticmethod
    def empty(shape: Any) -> Array:
        return np.empty(shape, dtype=object)


_NUMPY = _Numpy()


def exactly(function: Callable[..., Any], **instead: Any) -> Callable[..., Any]:
    """The same code, run on rationals; functions of numerics that it calls are treated alike.

    `instead` replaces names of its module: a constant, or a function that has no rational values.
    """
    return _rebound(function, instead, {})


def _rebound(function: Any, instead: dict[str, Any], done: dict[int, Any]) -> Callable[..., Any]:
    plain: FunctionType = getattr(function, "py_func", function)
    if id(plain) in done:
        known: Callable[..., Any] = done[id(plain)]
        return known
    surroundings = {**plain.__globals__, "float": lambda value: value}
    done[id(plain)] = twin = FunctionType(
        plain.__code__, surroundings, plain.__name__, plain.__defaults__, plain.__closure__
    )
    twin.__kwdefaults__ = plain.__kwdefaults__
    for name in _names(plain.__code__):
        found = plain.__globals__.get(name)
        if name in instead:
            surroundings[name] = instead[name]
        elif found is np:
            surroundings[name] = _NUMPY
        elif _is_ours(found):
            surroundings[name] = _rebound(found, instead, done)
    return twin


def _is_ours(found: Any) -> bool:
    plain = getattr(found, "py_func", found)
    return isinstance(plain, FunctionType) and plain.__module__.split(".")[0] == "numerics"


def _names(code: CodeType) -> Iterator[str]:
    """Names that the code, and the functions and comprehensions inside it, look up outside."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
