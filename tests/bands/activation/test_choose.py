"""The chooser: by keys per query, device, precision, and what is installed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from numerics.bands.activation import choose, total_activation
from numerics.bands.activation.chooser import COMPILED_CROSSOVER, PLAIN_CROSSOVER


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr("numerics.bands.activation.chooser.installed", lambda package: package in request.param)


@pytest.mark.parametrize(
    ("only", "crossover"), [({"numba"}, COMPILED_CROSSOVER), (set(), PLAIN_CROSSOVER)], indirect=["only"]
)
@pytest.mark.usefixtures("only")
def test_on_the_host_the_keys_of_a_query_decide(crossover: int) -> None:
    assert choose(crossover - 1) == "direct"
    assert choose(crossover) == "halfplane"
    assert choose(10**6, window=crossover - 1) == "direct"
    assert choose(10**6, window=crossover) == "halfplane"
    assert choose(100, window=10**6) == "direct"
    assert choose(10**6, device="cuda") == "halfplane"


@pytest.mark.parametrize("only", [{"numba", "triton"}], indirect=True)
@pytest.mark.usefixtures("only")
def test_on_a_gpu_tiles_but_for_float64() -> None:
    assert choose(100, device="cuda") == choose(10**6, device="cuda") == "triton"
    assert choose(100, device="cuda", double=True) == "direct"
    assert choose(10**6, device="mps") == "halfplane"


def test_total_activation_follows_the_chooser(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, object]] = []

    def answer(length: int, **known: object) -> str:
        asked.append((length, known))
        return "nowhere"

    monkeypatch.setattr("numerics.bands.activation.total.choose", answer)
    x = np.ones((1, 3, 2), dtype=np.float32)
    with pytest.raises(Exception, match="path 'nowhere' is not known"):
        total_activation(x, x, n_bands=1, window=2)
    assert asked == [(3, {"window": 2, "device": "cpu", "double": False})]


@pytest.mark.parametrize("path", ["direct", "halfplane"])
def test_memory_grows_as_the_text(path: str) -> None:
    """Peak of what numpy allocates: linear in T, and under 20 numbers of 8 bytes per token of one band."""

    def peak(length: int) -> int:
        q, k = np.random.default_rng(0).standard_normal((2, 1, length, 2))
        total_activation(q[:, :100], k[:, :100], n_bands=1, path=path)  # type: ignore[arg-type]  # compiles
        tracemalloc.start()
        total_activation(q, k, n_bands=1, path=path)  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    short, long = (2**12, 2**14) if path == "direct" else (2**14, 2**16)
    assert peak(long) <= 4.2 * peak(short)
    assert peak(long) <= 20 * 8 * long
