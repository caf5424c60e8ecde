"""The shipped strategies keep their promises, and each finds the fault that it is there for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from numerics.forms.coordinates import profile_coordinates, split_signs
from numerics.models.rotary import RotaryTable, turn
from numerics.positional.spread import effective_token_count
from numerics.testing import orthogonal_matrices, rotary_tables, score_rows, spectra, token_distributions

Float = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
WITHIN = 100
"""Examples within which a planted fault must be found: half of what the profile `ci` draws."""


# ---- what is promised


@given(orthogonal_matrices())
def test_orthogonal_matrices_are_orthogonal(Q: Float) -> None:
    # Householder QR: ‖QᵀQ − 1‖ ≤ c·n^1.5·eps, c of some units; a reflection has a handful of roundings an entry.
    assert np.abs(Q.T @ Q - np.eye(len(Q))).max() <= 8 * len(Q) * EPS


@given(spectra())
def test_spectra_are_finite_and_not_negative_zero(values: Float) -> None:
    assert values.ndim == 1
    assert values.size
    assert np.isfinite(values).all()
    assert not np.signbit(values[values == 0]).any()


@given(score_rows())
def test_in_every_row_of_scores_some_key_is_seen(scores: Float) -> None:
    assert np.isfinite(scores).any(axis=1).all()
    assert not np.isnan(scores).any()
    assert not np.isposinf(scores).any()


@given(rotary_tables())
def test_rotary_tables_fit_their_head(table: RotaryTable) -> None:
    assert table.pairing in ("half", "interleaved")
    assert 1 <= table.n_bands <= table.head_dim // 2
    assert (table.frequencies >= 0).all()
    assert np.isfinite(table.frequencies).all()
    assert table.attention_scaling > 0


@given(token_distributions())
def test_token_distributions_are_distributions(p: Float) -> None:
    assert (p >= 0).all()
    assert abs(p.sum() - 1) <= len(p) * EPS


# ---- what each is there for: the edges do occur, and a wrong answer does not survive them


def occurs(strategy: st.SearchStrategy[Any], wanted: Callable[[Any], bool]) -> bool:
    """Whether an example of that kind is drawn within `WITHIN`."""
    found = []

    @settings(max_examples=WITHIN, database=None, derandomize=True, phases=[Phase.generate])
    @given(strategy)
    def look(example: Any) -> None:
        found.append(wanted(example))

    look()
    return any(found)


def refuses(strategy: st.SearchStrategy[Any], holds: Callable[[Any], bool]) -> bool:
    """Whether the property fails for some example within `WITHIN`, or raises."""

    def fails(example: Any) -> bool:
        with np.errstate(all="ignore"):
            return not holds(example)

    return occurs(strategy, fails)


EDGES: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], bool]]] = {
    "an orthogonal matrix with determinant -1": (orthogonal_matrices(), lambda Q: np.linalg.det(Q) < 0),
    "an orthogonal matrix without a zero": (orthogonal_matrices(), lambda Q: len(Q) > 2 and (Q != 0).all()),
    "a signed permutation": (
        orthogonal_matrices(),
        lambda Q: len(Q) > 2 and not np.array_equal(Q, np.eye(len(Q))) and set(np.abs(Q).ravel()) == {0.0, 1.0},
    ),
    "an eigenvalue three times": (spectra(), lambda v: np.unique(v, return_counts=True)[1].max() >= 3),
    "a spectrum that is zero": (spectra(), lambda v: not v.any()),
    "an eigenvalue and its opposite": (spectra(), lambda v: bool(set(v[v > 0]) & set(-v[v < 0]))),
    "a hard zero": (score_rows(), lambda s: bool(np.isneginf(s).any())),
    "scores that overflow exp": (score_rows(), lambda s: bool((s > 710).any())),
    "a seen key below any finite mask": (score_rows(), lambda s: bool(((s < -3.4e38) & np.isfinite(s)).any())),
    "a single key": (score_rows(), lambda s: s.shape[1] == 1),
    "partial rotary": (rotary_tables(), lambda t: t.rotary_dim < t.head_dim),
    "an odd head": (rotary_tables(), lambda t: t.head_dim % 2 == 1),
    "interleaved bands": (rotary_tables(), lambda t: t.pairing == "interleaved" and t.n_bands > 1),
    "a scaled table": (rotary_tables(), lambda t: t.attention_scaling != 1),
    "two bands alike": (rotary_tables(), lambda t: len(set(t.frequencies)) < t.n_bands),
    "one token certain": (token_distributions(), lambda p: len(p) > 1 and p.max() == 1),
    "a tiny mass": (token_distributions(), lambda p: bool(((p > 0) & (p < 1e-200)).any())),
    "equal masses beside zeros": (
        token_distributions(),
        lambda p: 0 in p and np.count_nonzero(p) > 1 and len(set(p[p > 0])) == 1,
    ),
}


@pytest.mark.parametrize("edge", EDGES)
def test_the_edge_is_drawn(edge: str) -> None:
    assert occurs(*EDGES[edge])


def softmax(scores: Float) -> Float:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def without_the_maximum(scores: Float) -> Float:
    weights = np.exp(scores)
    return weights / weights.sum(axis=-1, keepdims=True)


def masked_by_a_finite_number(scores: Float) -> Float:
    return softmax(np.where(np.isneginf(scores), np.finfo(np.float32).min, scores))


def maximum_of_all_rows(scores: Float) -> Float:
    weights = np.exp(scores - scores.max())
    return weights / weights.sum(axis=-1, keepdims=True)


def is_softmax(p: Float, scores: Float) -> bool:
    """Rows sum to 1, hard zeros are zeros, the order of the scores is kept."""
    kept = all((np.diff(row[np.argsort(s, kind="stable")]) >= 0).all() for row, s in zip(p, scores, strict=True))
    return bool(np.abs(p.sum(axis=1) - 1).max() <= 8 * EPS and (p[np.isneginf(scores)] == 0).all() and kept)


WRONG: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], bool]]] = {
    "softmax without the maximum": (score_rows(), lambda s: is_softmax(without_the_maximum(s), s)),
    "softmax with a finite mask": (score_rows(), lambda s: is_softmax(masked_by_a_finite_number(s), s)),
    "softmax with one maximum for all rows": (score_rows(), lambda s: is_softmax(maximum_of_all_rows(s), s)),
    "rows taken for columns": (orthogonal_matrices(), lambda Q: np.allclose(Q, Q.T)),
    "a determinant taken for 1": (orthogonal_matrices(), lambda Q: np.linalg.det(Q) > 0),
    "lobes of different eigenvalues only": (
        spectra(),
        lambda v: np.allclose(split_signs(np.unique(v))[0].sum(), v[v > 0].sum()),
    ),
    "a profile divided by zero": (spectra(), lambda v: bool(np.isfinite(profile_coordinates(v, 0.0)).all())),
    "rotation in the other layout": (
        rotary_tables(),
        lambda t: np.allclose(*(_turned(x) for x in (t, _with(t, pairing=_other(t))))),
    ),
    "dims that do not rotate, rotated": (
        rotary_tables(),
        lambda t: t.head_dim == t.rotary_dim or np.allclose(_turned(t)[t.rotary_dim :], 0),
    ),
    "a scale of cosine and sine forgotten": (
        rotary_tables(),
        lambda t: np.allclose(_turned(t), _turned(_with(t, attention_scaling=1.0))),
    ),
    "entropy by a bare product": (token_distributions(), lambda p: bool(np.isfinite(-(p * np.log(p)).sum()))),
    "entropy with an epsilon": (
        token_distributions(),
        lambda p: p.max() < 1 or -(p * np.log(p + 1e-12)).sum() == 0,
    ),
    "effective tokens counted": (
        token_distributions(),
        lambda p: np.isclose(effective_token_count(p), np.count_nonzero(p)),
    ),
}


def _turned(table: RotaryTable) -> Float:
    return turn(table, np.arange(1.0, table.head_dim + 1), *table.cos_sin(3))


def _other(table: RotaryTable) -> str:
    return "interleaved" if table.pairing == "half" else "half"


def _with(table: RotaryTable, **changed: Any) -> RotaryTable:
    return RotaryTable(**{**vars(table), **changed})


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_answer_is_found(fault: str) -> None:
    assert refuses(*WRONG[fault])


@given(score_rows())
def test_the_right_softmax_is_not_refused(scores: Float) -> None:
    with np.errstate(over="ignore"):  # 1e300 − (−1e300)
        assert is_softmax(softmax(scores), scores)


def test_finding_nothing_is_no_find() -> None:
    """The helper itself: a property that always holds is not refused, one that never does is."""
    assert not refuses(spectra(), lambda _: True)
    assert refuses(spectra(), lambda _: False)


@pytest.mark.parametrize("size", [1, 3])
def test_sizes_are_bounded_by_what_is_asked(size: int) -> None:
    assert not occurs(orthogonal_matrices(size), lambda Q: len(Q) > size)
    assert not occurs(spectra(size), lambda v: len(v) > size)
    assert not occurs(token_distributions(size), lambda p: len(p) > size)
    assert not occurs(score_rows(size, size), lambda s: max(s.shape) > size)
    assert not occurs(rotary_tables(size), lambda t: t.n_bands > size)


def test_without_hypothesis_the_import_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from numerics.errors import MissingExtra\n"
        "try:\n    import numerics.testing\n"
        "except MissingExtra as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "numerics.testing needs the optional extra 'test'; run: pip install 'numerics[test]'\n"


def test_the_package_itself_does_not_import_hypothesis() -> None:
    code = "import sys, numerics, numerics.models.rotary; print('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
