"""The table of the triton path. `test_tiles.py` runs it in a process of its own: on the GPU where there is one, else in
triton's interpreter, which must be asked for before triton is first imported and is slow: short texts, few bands there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from numerics.bands.activation import row_activation, tiles, total_activation
from numerics.errors import InvalidArgument
from tests.bands.activation.samples import SAMPLES, sample
from tests.bands.activation.test_inputs import strided
from tests.bands.activation.truth import HEAD_DIMS, LENGTHS, exact, within

GPU = torch.cuda.is_available()
LONG = LENGTHS if GPU else tuple(length for length in LENGTHS if length <= 257)
BANDS = 64 if GPU else 4


def triton_rows(q: Any, k: Any, **arguments: Any) -> np.ndarray:
    return row_activation(q, k, path="triton", **arguments)


def test_this_process_runs_triton() -> None:
    assert tiles.interpreting() != GPU


@pytest.mark.parametrize("length", LONG)
def test_lengths(length: int) -> None:
    q, k = (x.astype(np.float32) for x in sample("normal", length, 2, 1, length, 5))
    truth = exact(q, k, n_bands=2)
    assert within(triton_rows(q, k, n_bands=2), truth, "triton")
    assert within(total_activation(q, k, n_bands=2, path="triton"), truth, "triton")


@pytest.mark.parametrize("kind", SAMPLES)
def test_degenerate_keys(kind: str) -> None:
    q, k = sample(kind, 1, 2, 1, 129, 4)
    truth = exact(q, k, n_bands=2, pairing="interleaved")
    assert within(triton_rows(q, k, n_bands=2, pairing="interleaved"), truth, "triton")


@pytest.mark.parametrize("window", [1, 2, 63, 64, 65, 70, 128, 5000])
def test_windows(window: int) -> None:
    q, k = sample("normal", window, 1, 1, 257 if window in (2, 70) else 200, 2)
    assert within(triton_rows(q, k, n_bands=1, window=window), exact(q, k, n_bands=1, window=window), "triton", window)


@pytest.mark.parametrize("dims", HEAD_DIMS)
def test_head_dims(dims: int) -> None:
    q, k = sample("normal", dims, 1, 1, 65, dims)
    bands = min(BANDS, dims // 2)
    for pairing in ("half", "interleaved"):
        truth = exact(q, k, n_bands=bands, pairing=pairing)
        assert within(triton_rows(q, k, n_bands=bands, pairing=pairing), truth, "triton")


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (3, 3), (4, 1), (4, 2)])
def test_kv_heads_are_shared_in_blocks(heads: int, kv_heads: int) -> None:
    q, k = sample("normal", heads, heads, kv_heads, 66, 4)
    assert within(triton_rows(q, k, n_bands=2, scale=0.37), exact(q, k, n_bands=2, scale=0.37), "triton")


@pytest.mark.parametrize("bands_per_program", [1, 3, 7])
def test_several_bands_in_one_program(bands_per_program: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "ENOUGH_PROGRAMS", max(1, 4 * 2 // bands_per_program))
    q, k = sample("normal", 9, 1, 1, 100, 8)
    assert within(triton_rows(q, k, n_bands=4), exact(q, k, n_bands=4), "triton")


def test_what_a_row_rounds_away_is_carried_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key of 2^24, where float32 has steps of 2, and 256 keys of 1/16: 16 tiles add 1 each, lost if added plainly.

    The first tile and the last addition may round.
    """
    for name, size in (("QUERIES", 16), ("KEYS", 16), ("FLUSH", 1)):
        monkeypatch.setattr(tiles, name, size)
    q, k = np.zeros((2, 1, 257, 2), dtype=np.float32)
    q[..., 1], k[..., 1], k[0, 0, 1] = 1.0, 1 / 16, 2.0**24
    assert abs(triton_rows(q, k, n_bands=1)[0, 0, -1] - (2.0**24 + 16)) <= 4


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtypes(dtype: torch.dtype) -> None:
    q, k = (torch.from_numpy(x).to(dtype) for x in sample("normal", 11, 2, 1, 70, 4))
    truth = exact(q.double().numpy(), k.double().numpy(), n_bands=2)
    assert within(triton_rows(q, k, n_bands=2), truth, "triton")


@pytest.mark.parametrize("kind", ["transposed", "reversed", "slice of a poisoned buffer"])
@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_strides_are_followed_and_inputs_unchanged(kind: str, pairing: Any) -> None:
    q, k = sample("normal", 12, 2, 1, 67, 7)
    as_they_lie = (strided(q, kind), strided(k, kind))
    before = [x.tobytes() for x in as_they_lie]
    plain = triton_rows(q, k, n_bands=3, pairing=pairing, window=40)
    assert (triton_rows(*as_they_lie, n_bands=3, pairing=pairing, window=40) == plain).all()
    if kind != "reversed":
        tensors = [torch.from_numpy(x) for x in as_they_lie]
        assert (triton_rows(*tensors, n_bands=3, pairing=pairing, window=40) == plain).all()
        assert (triton_rows(*tensors, n_bands=3, pairing=pairing, window=40) == plain).all()  # warm as cold
    assert [x.tobytes() for x in as_they_lie] == before


def test_expanded_tensors() -> None:
    q, k = (torch.from_numpy(x) for x in sample("normal", 13, 1, 1, 65, 4))
    many, still = q.expand(3, -1, -1), k[:, :1].expand(3, 65, -1)
    assert (triton_rows(many, still, n_bands=2) == triton_rows(many.contiguous(), still.contiguous(), n_bands=2)).all()


def test_offsets_beyond_32_bits() -> None:
    """Two heads 2^31 + 64 numbers apart, in memory that is touched nowhere else."""
    q, k = (x.astype(np.float16) for x in sample("normal", 14, 2, 2, 5, 4))
    buffer = torch.empty(2**31 + 128, dtype=torch.float16, device="cuda" if GPU else "cpu")
    far = buffer.as_strided((2, 5, 4), (2**31 + 64, 4, 1))
    far.copy_(torch.from_numpy(k))
    near = torch.from_numpy(q).to(buffer.device)
    assert within(triton_rows(near, far, n_bands=2), exact(q, k, n_bands=2), "triton")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_in_a_band_are_refused_and_in_the_rest_ignored(bad: float) -> None:
    q, k = sample("normal", 15, 2, 1, 66, 5)
    right = triton_rows(q, k, n_bands=2)
    q[:, :, 4] = k[:, :, 4] = bad
    assert (triton_rows(q, k, n_bands=2) == right).all()
    for x, letter in ((q, "q"), (k, "k")):
        kept = x[-1, 65, 3]
        x[-1, 65, 3] = bad
        with pytest.raises(InvalidArgument, match=f"^{letter} holds NaN or infinity in its bands"):
            triton_rows(q, k, n_bands=2)
        x[-1, 65, 3] = kept


@pytest.mark.parametrize(("q_power", "k_power"), [(120, 0), (-120, -120), (700, -700), (-1000, 1000)])
def test_even_powers_of_two_pass_through_exactly(q_power: int, k_power: int) -> None:
    q, k = sample("normal", 16, 1, 1, 70, 4)
    plain = triton_rows(q, k, n_bands=2)
    found = triton_rows(np.ldexp(q, q_power), np.ldexp(k, k_power), n_bands=2)
    assert (found == np.ldexp(plain, q_power + k_power)).all()


def test_float32_at_the_ends_of_its_range() -> None:
    q, k = (x.astype(np.float32) for x in sample("normal", 17, 1, 1, 70, 4))
    large, small = np.ldexp(q, 125), np.ldexp(k, -140)  # the small ones are subnormal: few digits, all of them kept
    assert within(triton_rows(large, small, n_bands=2), exact(large, small, n_bands=2), "triton")
    with pytest.raises(InvalidArgument, match="too large for float64"):
        triton_rows(large.astype(float), np.ldexp(k.astype(float), 1000), n_bands=2)
