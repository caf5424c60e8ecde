"""Layouts, strides and dtypes read as they are; bad numbers and shapes refused; nothing written to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from numerics.bands.activation import row_activation, total_activation, unrotated_activation
from numerics.errors import InvalidArgument
from tests.bands.activation.samples import sample
from tests.bands.activation.truth import HOST_PATHS, exact, taking, within


@pytest.mark.parametrize("path", HOST_PATHS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_of_any_dtype_are_taken_as_they_are(path: str, dtype: torch.dtype) -> None:
    q, k = (torch.from_numpy(x).to(dtype).requires_grad_() for x in sample("normal", 1, 2, 1, 150, 6))
    truth = exact(q.detach().double().numpy(), k.detach().double().numpy(), n_bands=3)
    with taking(path) as name:
        assert within(row_activation(q, k, n_bands=3, path=name), truth, path)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, ">f8"])
def test_arrays_of_any_dtype_are_taken_as_they_are(dtype: Any) -> None:
    q, k = (x.astype(np.float16).astype(dtype) for x in sample("normal", 2, 2, 1, 150, 6))
    truth = exact(q.astype(float), k.astype(float), n_bands=3)
    for path in HOST_PATHS:
        with taking(path) as name:
            assert within(row_activation(q, k, n_bands=3, path=name), truth, path)


def strided(x: np.ndarray, kind: str) -> np.ndarray:
    """The same numbers, laid out otherwise, in a buffer whose other places hold NaN."""
    heads, length, dims = x.shape
    if kind == "transposed":
        return np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
    if kind == "reversed":
        return np.ascontiguousarray(x[::-1, ::-1, ::-1])[::-1, ::-1, ::-1]
    buffer = np.full((heads + 2, 2 * length + 1, dims + 3), np.nan)
    view = buffer[1:-1, 1::2, 2:-1]
    view[...] = x
    return view


@pytest.mark.parametrize("kind", ["transposed", "reversed", "slice of a poisoned buffer"])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_strides_are_followed(kind: str, pairing: Any) -> None:
    q, k = sample("normal", 3, 4, 2, 129, 8)
    as_they_lie = (strided(q, kind), strided(k, kind))
    before = [x.copy() for x in as_they_lie]
    for path in HOST_PATHS:
        with taking(path) as name:
            plain = row_activation(q, k, n_bands=3, pairing=pairing, window=50, path=name)
            found = row_activation(*as_they_lie, n_bands=3, pairing=pairing, window=50, path=name)
            if kind != "reversed":
                tensors = [torch.from_numpy(x) for x in as_they_lie]
                assert (row_activation(*tensors, n_bands=3, pairing=pairing, window=50, path=name) == plain).all()
        assert (found == plain).all()
    assert all((x.tobytes() == y.tobytes()) for x, y in zip(as_they_lie, before, strict=True))


def test_expanded_tensors_are_followed_and_unchanged() -> None:
    q, k = (torch.from_numpy(x) for x in sample("normal", 4, 1, 1, 100, 6))
    many_q, still = q.expand(3, -1, -1), k[:, :1].expand(3, 100, -1)
    before = q.clone(), k.clone()
    for path in HOST_PATHS:
        with taking(path) as name:
            found = total_activation(many_q, still, n_bands=3, path=name)
            plain = total_activation(many_q.contiguous(), still.contiguous(), n_bands=3, path=name)
        assert (found == plain).all()
    assert torch.equal(q, before[0])
    assert torch.equal(k, before[1])


@pytest.mark.parametrize("path", HOST_PATHS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_in_a_band_are_refused_and_in_the_rest_ignored(path: str, bad: float) -> None:
    q, k = sample("normal", 5, 2, 1, 70, 7)
    with taking(path) as name:
        right = total_activation(q, k, n_bands=3, path=name)
        for x, other in ((q, k), (k, q)):
            x[0, 3, 6] = bad
            other[:, :, 6] = bad
            assert (total_activation(q, k, n_bands=3, path=name) == right).all()
        for x, letter in ((q, "q"), (k, "k")):
            kept = x[-1, 69, 5]
            x[-1, 69, 5] = bad
            with pytest.raises(InvalidArgument, match=f"^{letter} holds NaN or infinity in its bands; "):
                total_activation(q, k, n_bands=3, path=name)
            x[-1, 69, 5] = kept


@pytest.mark.parametrize("path", HOST_PATHS)
@pytest.mark.parametrize(
    ("q_power", "k_power"), [(660, 0), (660, -660), (-660, 660), (1000, -1000), (-900, 1000), (0, -900)]
)
def test_powers_of_two_pass_through_exactly(path: str, q_power: int, k_power: int) -> None:
    q, k = (x.astype(np.float16).astype(float) for x in sample("normal", 6, 2, 1, 200, 4))
    with taking(path) as name:
        plain = total_activation(q, k, n_bands=2, scale=0.3, path=name)
        found = total_activation(np.ldexp(q, q_power), np.ldexp(k, k_power), n_bands=2, scale=0.3, path=name)
    assert (found == np.ldexp(plain, q_power + k_power)).all()


@pytest.mark.parametrize("path", HOST_PATHS)
def test_products_beyond_float64_are_refused_only_if_the_result_is(path: str) -> None:
    q, k = (np.ldexp(x, 660) for x in sample("normal", 7, 2, 1, 200, 4))
    with taking(path) as name:
        plain = total_activation(np.ldexp(q, -660), np.ldexp(k, -660), n_bands=2, path=name)
        assert (total_activation(q, k, n_bands=2, scale=2.0**-800, path=name) == np.ldexp(plain, 520)).all()
        for function in (total_activation, row_activation):
            with pytest.raises(InvalidArgument, match="too large for float64; divide q or k by a power of two"):
                function(q, k, n_bands=2, path=name)


@pytest.mark.parametrize("path", HOST_PATHS)
def test_subnormal_numbers_are_numbers(path: str) -> None:
    q, k = sample("normal", 8, 2, 1, 200, 4)
    q, k = np.ldexp(q, -1060), np.ldexp(k, 60)
    with taking(path) as name:
        assert within(row_activation(q, k, n_bands=2, path=name), exact(q, k, n_bands=2), path)


def test_bands_of_very_different_size_do_not_touch_each_other() -> None:
    q, k = sample("normal", 7, 1, 1, 100, 4)
    factors = np.array([2.0**500, 2.0**-500, 2.0**500, 2.0**-500])
    for path in HOST_PATHS:
        with taking(path) as name:
            plain = total_activation(q, k, n_bands=2, path=name)
            assert (total_activation(q * factors, k, n_bands=2, path=name) == plain * factors[:2]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_bands": 5}, "5 bands do not fit 8 dims; give n_bands from 1 to 4"),
        ({"n_bands": 0}, "0 bands do not fit"),
        ({"pairing": "split"}, "pairing 'split' is not known; use 'half' or 'interleaved'"),
        ({"window": 0}, "a window of 0 positions admits no key"),
        ({"scale": float("nan")}, "the scale is nan"),
        ({"path": "quick"}, "path 'quick' is not known; use one of reference, direct, halfplane, triton"),
        ({"k": np.zeros((1, 9, 8))}, r"q \(2, 10, 8\) and k \(1, 9, 8\) do not fit"),
        ({"k": np.zeros((3, 10, 8))}, "3 kv heads do not divide 2 heads"),
        ({"q": np.zeros((2, 0, 8)), "k": np.zeros((1, 0, 8))}, "do not fit"),
        ({"q": np.zeros((10, 8))}, "do not fit"),
        ({"q": np.zeros((2, 10, 8), dtype=int)}, "not int64"),
        ({"k": torch.zeros((1, 10, 8), dtype=torch.complex64)}, "not torch.complex64"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"q": np.zeros((2, 10, 8)), "k": np.zeros((1, 10, 8)), "n_bands": 4} | change
    for function in (total_activation, row_activation):
        with pytest.raises(InvalidArgument, match=message) as raised:
            function(**arguments)
        assert "\n" not in str(raised.value)


def test_the_unrotated_rest() -> None:
    for length, dims, window in ((1, 3, None), (70, 1, 2), (700, 5, None), (700, 4, 90), (50, 4, 900)):
        q, k = sample("mixed sizes", length, 4, 2, length, dims)
        products = np.abs(0.3 * np.einsum("hin,hjn->hij", q.astype(np.longdouble), np.repeat(k, 2, axis=0)))
        distance = np.arange(length)[:, None] - np.arange(length)
        seen = (distance >= 0) & (distance < (window or length))
        right = (products * seen).sum(axis=(1, 2))
        sizes = np.linalg.norm(q, axis=-1)[:, :, None] * np.linalg.norm(np.repeat(k, 2, axis=0), axis=-1)[:, None]
        bound = (dims + length + 2) * np.finfo(float).eps * 0.3 * (sizes * seen).sum(axis=(1, 2))
        for factor in (1.0, 2.0**600):
            found = unrotated_activation(q * factor, k / factor, scale=0.3, window=window)
            assert (np.abs(found - right) <= bound).all()
        assert bool((np.abs(right * 1.01 - right) > bound).all())
    assert (unrotated_activation(np.zeros((4, 7, 0)), np.zeros((2, 7, 0))) == np.zeros(4)).all()
    q[3, 49, 3] = np.nan
    with pytest.raises(InvalidArgument, match="q holds NaN or infinity"):
        unrotated_activation(q, k)
