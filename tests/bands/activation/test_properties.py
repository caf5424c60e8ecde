"""What total activation is, whatever the path: homogeneous, additive over keys, invariant under turning a band."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from numerics.bands.activation import row_activation, total_activation, unrotated_activation
from numerics.bands.activation.bounds import error_factor
from tests.bands.activation.samples import SAMPLES, sample
from tests.bands.activation.truth import HOST_PATHS, keys_seen, taking

Float = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


class Drawn(NamedTuple):
    q: Float
    k: Float
    path: str
    n_bands: int
    pairing: Any
    window: int | None

    def rows(self, q: Float | None = None, k: Float | None = None, **changed: Any) -> Float:
        arguments: dict[str, Any] = {"n_bands": self.n_bands, "pairing": self.pairing, "window": self.window} | changed
        with taking(self.path) as name:
            return row_activation(self.q if q is None else q, self.k if k is None else k, path=name, **arguments)  # type: ignore[arg-type]

    def dims(self) -> list[list[int]]:
        """The two dims of every band."""
        bands = range(self.n_bands)
        return [[b, b + self.n_bands] if self.pairing == "half" else [2 * b, 2 * b + 1] for b in bands]

    def sizes(self) -> Float:
        """`Σ|q||k|` (H, B, T): what errors are measured by. A norm is off by 2·eps, a sum by T·eps: no matter here."""
        found = np.zeros((len(self.q), self.n_bands, self.q.shape[1]))
        distance = np.arange(self.q.shape[1])[:, None] - np.arange(self.q.shape[1])
        seen = (distance >= 0) & (distance < (self.window or len(distance)))
        for band, dims in enumerate(self.dims()):
            q, k = (np.hypot(x[..., dims[0]], x[..., dims[1]]) for x in (self.q, self.k))
            found[:, band] = q * (seen @ np.repeat(k, len(q) // len(k), axis=0).T).T
        return found

    def factor(self) -> float:
        return error_factor(self.path.split()[0], keys_seen(self.q.shape[1], self.window))  # type: ignore[arg-type]


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    kv_heads, group = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    length = draw(st.one_of(st.integers(1, 40), st.integers(1, 300)))
    bands, rest = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    q, k = sample(
        draw(st.sampled_from(sorted(SAMPLES))), draw(st.integers(0, 2**32 - 1)),
        kv_heads * group, kv_heads, length, 2 * bands + rest,
    )  # fmt: skip
    path = draw(st.sampled_from(HOST_PATHS))
    window = draw(st.none() | st.integers(1, 2 * length))
    return Drawn(q, k, path, bands, draw(st.sampled_from(["half", "interleaved"])), window)


@given(drawn(), st.integers(-400, 400), st.integers(-400, 400))
def test_powers_of_two_pass_through(case: Drawn, a: int, b: int) -> None:
    # Exact: angles do not change, nor the order of anything; sizes stay within 10^±18 · 2^±800.
    assert (case.rows(np.ldexp(case.q, a), np.ldexp(case.k, b)) == np.ldexp(case.rows(), a + b)).all()


@given(drawn(), st.floats(-1e3, 1e3))
def test_the_scale_is_a_factor_without_its_sign(case: Drawn, scale: float) -> None:
    assert np.allclose(case.rows(scale=scale), abs(scale) * case.rows(), rtol=4 * EPS, atol=0)


@given(drawn(), st.randoms(use_true_random=False))
def test_bands_are_independent(case: Drawn, random: Any) -> None:
    order = list(range(case.n_bands))
    random.shuffle(order)
    here, there = (np.array(dims).ravel() for dims in (case.dims(), [case.dims()[b] for b in order]))
    q, k = case.q.copy(), case.k.copy()
    q[..., here], k[..., here] = case.q[..., there], case.k[..., there]
    assert (case.rows(q, k) == case.rows()[:, order]).all()


@given(drawn(), st.floats(0, 6.3))
def test_turning_a_band_of_queries_and_keys_together_changes_nothing(case: Drawn, angle: float) -> None:
    # Both results are inside the bound; turning rounds each vector by at most 3 eps (cos, sin, two products, a sum).
    turned = [x.copy() for x in (case.q, case.k)]
    for x, y in zip((case.q, case.k), turned, strict=True):
        for first, second in case.dims():
            y[..., first] = np.cos(angle) * x[..., first] - np.sin(angle) * x[..., second]
            y[..., second] = np.sin(angle) * x[..., first] + np.cos(angle) * x[..., second]
    granted = (2 * case.factor() + 8 * EPS) * case.sizes()
    assert (np.abs(case.rows(*turned) - case.rows()) <= granted).all()


@given(drawn(), st.integers(0, 1000))
def test_a_window_of_the_whole_text_is_no_window(case: Drawn, more: int) -> None:
    assert (case.rows(window=case.q.shape[1] + more) == case.rows(window=None)).all()


@given(drawn())
def test_rows_sum_to_the_total(case: Drawn) -> None:
    with taking(case.path) as name:
        total = total_activation(
            case.q, case.k, n_bands=case.n_bands, pairing=case.pairing, window=case.window, path=name  # type: ignore[arg-type]
        )  # fmt: skip
    assert np.allclose(case.rows().sum(axis=-1), total, rtol=40 * EPS, atol=0)


@given(drawn(), st.integers(0, 2**32 - 1))
def test_keys_add_up(case: Drawn, seed: int) -> None:
    taken = np.random.default_rng(seed).random((1, case.k.shape[1], 1)) < 0.5
    parts = case.rows(k=np.where(taken, case.k, 0.0)) + case.rows(k=np.where(taken, 0.0, case.k))
    assert (np.abs(parts - case.rows()) <= 3 * case.factor() * case.sizes()).all()


@given(drawn(), st.integers(0, 2**32 - 1))
def test_signs_do_not_matter(case: Drawn, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, k = (x * rng.choice([-1.0, 1.0], (1, x.shape[1], 1)) for x in (case.q, case.k))
    assert (case.rows(q, k) == case.rows()).all()


@given(drawn(), st.integers(1, 300))
def test_a_row_knows_nothing_of_later_tokens(case: Drawn, stop: int) -> None:
    stop = min(stop, case.q.shape[1])
    granted = 2 * case.factor() * case.sizes()[..., :stop]
    assert (np.abs(case.rows(case.q[:, :stop], case.k[:, :stop]) - case.rows()[..., :stop]) <= granted).all()


@given(drawn())
def test_the_window_is_the_difference_of_two_texts(case: Drawn) -> None:
    """Keys outside the window, alone, make up the rest of the causal row."""
    length, window = case.q.shape[1], case.window or 1
    causal = case.rows(window=None)
    inside = case.rows(window=window)
    granted = 3 * error_factor("direct", length) * case._replace(window=None).sizes()
    assert (inside <= causal + granted).all()
    if window < length:
        last = case.rows(k=np.where(np.arange(length)[:, None] >= length - window, case.k, 0.0), window=None)[..., -1]
        assert (np.abs(inside[..., -1] - last) <= granted[..., -1]).all()


@given(drawn())
def test_bands_and_the_rest_bound_the_scores(case: Drawn) -> None:
    """`|Σ_b x_b + rest| ≤ Σ_b |x_b| + |rest|`: Formal.activation_bounds_score."""
    length, dims = case.q.shape[1:]
    keys = np.repeat(case.k, len(case.q) // len(case.k), axis=0)
    distance = np.arange(length)[:, None] - np.arange(length)
    seen = (distance >= 0) & (distance < (case.window or length))
    scores = (np.abs(case.q @ keys.swapaxes(1, 2)) * seen).sum(axis=(1, 2))
    rest = unrotated_activation(
        case.q[..., 2 * case.n_bands :], case.k[..., 2 * case.n_bands :], window=case.window
    )  # fmt: skip
    size = (np.linalg.norm(case.q, axis=-1)[:, :, None] * np.linalg.norm(keys, axis=-1)[:, None] * seen).sum(
        axis=(1, 2)
    )
    activation = case.rows().sum(axis=(1, 2)) + rest
    assert (scores <= activation + (2 * case.factor() * case.n_bands + (dims + length) * EPS) * size).all()
