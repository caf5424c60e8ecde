"""Bilinear forms: energies, profile, Gram formulas."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from checks.certified.draws import PYTHAGOREAN, dyadic_arrays, rational_arrays
from checks.certified.exact import Array, exact
from checks.certified.statements import Number, Subject, matrix, number, sized, vector
from numerics.forms.coordinates import profile_coordinates, split_signs
from numerics.forms.reference import full_form
from numerics.forms.spectrum import antisymmetric_energy, symmetric_part


@st.composite
def _energies(draw: st.DrawFn) -> list[Number]:
    """Forms given by their first p rows of r, the others zero."""
    r = draw(st.integers(1, 4))
    p = draw(st.integers(1, r))
    rows = draw(dyadic_arrays(p, r))
    whole = np.zeros((r, r))
    whole[:p] = rows
    L = sized(matrix(whole), r, r)
    symmetric, antisymmetric = float(np.sum(symmetric_part(rows) ** 2)), antisymmetric_energy(rows)
    return [
        number(f"frob (symm {L})", symmetric),
        number(f"frob (skew {L})", antisymmetric),
        number(f"frob {L}", symmetric + antisymmetric),
        number(f"trsq {L}", symmetric - antisymmetric),
    ]


@st.composite
def _profile(draw: st.DrawFn) -> list[Number]:
    """`L = QΛQᵀ + T` with Q a turn of the first two axes: lobes and ‖T‖² are known without an eigenvalue solver."""
    r = draw(st.integers(1, 4))
    eigenvalues, upper = draw(rational_arrays(r)), np.triu(draw(rational_arrays(r, r)), k=1)
    antisymmetric = upper - upper.T
    Q = _turned_axes(r, draw(st.sampled_from(PYTHAGOREAN)))
    form = Q @ np.diag(eigenvalues) @ Q.T + antisymmetric
    if not form.any():
        return []
    positive, negative = split_signs(eigenvalues)
    a, b, c, d = profile_coordinates(eigenvalues, np.sum(antisymmetric**2))
    L, lobes = sized(matrix(form), r, r), f"{vector(positive)} {vector(negative)}"
    return [
        number(f"coordA {L}", a),
        *(number(f"coord{name} (r := {r}) {L} {lobes}", share) for name, share in (("B", b), ("C", c), ("D", d))),
    ]


def _turned_axes(r: int, turn: tuple[int, int, int]) -> Array:
    """Rational orthogonal matrix (r, r)."""
    x, y, radius = turn
    Q = exact(np.eye(r, dtype=int))
    if r > 1:
        Q[:2, :2] = exact([[x, -y], [y, x]]) / radius
    return Q


@st.composite
def _gram(draw: st.DrawFn) -> list[Number]:
    n, width = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    key, query = draw(rational_arrays(n, width)), draw(rational_arrays(n, width))
    L = full_form(key, query)
    gram_key, gram_query, cross = key @ key.T, query @ query.T, query @ key.T
    W_K, W_Q = (sized(matrix(W), n, width) for W in (key, query))
    return [
        number(f"frob (mul (transpose {W_K}) {W_Q})", np.sum(L * L)),
        number(
            f"trace (mul (mul {W_K} (transpose {W_K})) (mul {W_Q} (transpose {W_Q})))", np.trace(gram_key @ gram_query)
        ),
        number(f"trsq (mul (transpose {W_K}) {W_Q})", np.sum(L * L.T)),
        number(f"trsq (mul {W_Q} (transpose {W_K}))", np.trace(cross @ cross)),
    ]


SUBJECTS = (
    Subject(
        "energy split",
        ("Profile",),
        ("frob", "symm", "skew", "trsq"),
        ("forms.spectrum.symmetric_part", "forms.spectrum.antisymmetric_energy"),
        "float64",
        _energies(),
    ),
    Subject(
        "profile",
        ("Profile",),
        ("coordA", "coordB", "coordC", "coordD"),
        ("forms.coordinates.split_signs", "forms.coordinates.profile_coordinates"),
        "as is",
        _profile(),
    ),
    Subject(
        "Gram formulas",
        ("Profile",),
        ("frob", "trsq", "trace"),
        ("forms.reference.full_form",),
        "as is; the traces of Gram matrices, which numerics takes only through a Cholesky factor, by a twin",
        _gram(),
    ),
)
