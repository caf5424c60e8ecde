"""Every path on the host against the definition in extended precision, inside the stated error bound."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.bands.activation import row_activation, total_activation
from tests.bands.activation.samples import SAMPLES, sample
from tests.bands.activation.truth import HEAD_DIMS, HOST_PATHS, LENGTHS, WINDOWS, exact, taking, within


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", SAMPLES)
def test_lengths(kind: str, length: int) -> None:
    q, k = sample(kind, length, 2, 1, length, 5)
    truth = exact(q, k, n_bands=2, pairing="interleaved")
    for path in HOST_PATHS:
        with taking(path) as name:
            rows = row_activation(q, k, n_bands=2, pairing="interleaved", path=name)
            total = total_activation(q, k, n_bands=2, pairing="interleaved", path=name)
        assert within(rows, truth, path), path
        assert within(total, truth, path), path


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("length", [1, 2, 64, 65, 129, 300])
@pytest.mark.parametrize("kind", ["normal", "ties", "mixed sizes"])
def test_windows(kind: str, length: int, window: int) -> None:
    q, k = sample(kind, length, 2, 1, length, 4)
    truth = exact(q, k, n_bands=2, window=window)
    for path in HOST_PATHS:
        with taking(path) as name:
            assert within(row_activation(q, k, n_bands=2, window=window, path=name), truth, path, window), path


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("dims", HEAD_DIMS)
def test_head_dims(dims: int, pairing: str) -> None:
    q, k = sample("normal", dims, 1, 1, 65, dims)
    bands = dims // 2
    truth = exact(q, k, n_bands=bands, pairing=pairing)
    for path in HOST_PATHS:
        with taking(path) as name:
            assert within(row_activation(q, k, n_bands=bands, pairing=pairing, path=name), truth, path), path  # type: ignore[arg-type]


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (3, 3), (4, 1), (6, 2), (6, 3)])
def test_kv_heads_are_shared_in_blocks(heads: int, kv_heads: int) -> None:
    q, k = sample("normal", heads, heads, kv_heads, 200, 9)
    truth = exact(q, k, n_bands=3, scale=0.37)
    for path in HOST_PATHS:
        with taking(path) as name:
            assert within(row_activation(q, k, n_bands=3, scale=0.37, path=name), truth, path), path


@pytest.mark.parametrize("path", HOST_PATHS)
def test_long_text_in_several_groups_of_bands(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerics.bands.activation.total.AT_ONCE", 3000)
    monkeypatch.setattr("numerics.bands.activation.levels.AT_ONCE", 500)
    monkeypatch.setattr("numerics.bands.activation.direct.STRIP", 1000)
    q, k = sample("normal", 5, 2, 1, 400, 10)
    with taking(path) as name:
        assert within(row_activation(q, k, n_bands=5, path=name), exact(q, k, n_bands=5), path)


@pytest.mark.parametrize("path", ["halfplane", "halfplane without numba"])
def test_large_keys_before_the_window_do_not_spoil_it(path: str) -> None:
    """The difference of two prefix sums would lose the window's keys among those before it."""
    q, k = sample("normal", 6, 1, 1, 700, 2)
    k[:, :350] *= 1e15
    with taking(path) as name:
        rows = row_activation(q, k, n_bands=1, window=100, path=name)
    assert within(rows, exact(q, k, n_bands=1, window=100), path, 100)


@pytest.mark.parametrize("path", HOST_PATHS)
def test_large_later_keys_do_not_spoil_a_row(path: str) -> None:
    q, k = sample("normal", 7, 1, 1, 400, 2)
    k[:, 200:] *= 1e30
    with taking(path) as name:
        assert within(row_activation(q, k, n_bands=1, path=name), exact(q, k, n_bands=1), path)


def test_the_bound_refuses_a_planted_error() -> None:
    q, k = sample("normal", 8, 2, 1, 1537, 4)
    truth = exact(q, k, n_bands=2)
    right = row_activation(q, k, n_bands=2, path="reference")
    for path in (*HOST_PATHS, "triton"):
        assert within(right, truth, path)
        for wrong in (right * 1.001, right.sum(axis=-1) * 1.001, right[:, ::-1], right[..., ::-1], right[:1]):
            assert not within(wrong, truth, path)
    one_key_missing = right.copy()
    one_key_missing[:, :, -1] -= np.abs(q[:, -1, 0] * k[0, -1, 0] + q[:, -1, 2] * k[0, -1, 2])[:, None]
    assert not within(one_key_missing, truth, "triton")
