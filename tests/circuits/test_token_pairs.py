"""Top pairs and skip-trigrams against all products."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numerics.circuits.token_pairs import balanced_norms, top_pairs
from numerics.circuits.trigrams import skip_trigrams
from tests.circuits.strategies import close, rngs

sizes = st.integers(1, 40)


def brute_force(products: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    left, right = np.unravel_index(np.arange(products.size), products.shape)
    order = np.lexsort((right, left, -products.reshape(-1)))[:k]
    return products.reshape(-1)[order], left[order], right[order]


@given(rngs(), sizes, sizes, st.integers(1, 5), st.integers(1, 60), st.integers(1, 9), st.booleans())
def test_pruned_pairs_are_those_of_all_products(
    rng: np.random.Generator, rows: int, columns: int, n: int, k: int, block: int, whole: bool
) -> None:
    """Whole numbers have ties and exact products; real ones norms of several orders, so that blocks are left out."""
    if whole:
        left, right = (rng.integers(-2, 3, (size, n)).astype(float) for size in (rows, columns))
    else:
        left, right = (
            rng.standard_normal((size, n)) * 10.0 ** rng.uniform(-3, 1, (size, 1)) for size in (rows, columns)
        )
    found = top_pairs(left, right, k, block)
    value, i, j = brute_force(left @ right.T, k)
    assert close(found.value, value)
    if whole:
        assert np.array_equal(found.left, i)
        assert np.array_equal(found.right, j)
    assert close(np.einsum("kn,kn->k", left[found.left], right[found.right]), found.value)
    assert len(set(zip(found.left.tolist(), found.right.tolist(), strict=True))) == min(k, rows * columns)


def test_blocks_are_left_out_where_norms_fall() -> None:
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((400, 4)) * 0.97 ** np.arange(400)[:, None] for _ in range(2))
    found = top_pairs(left, right, 10, block=20)
    assert close(found.value, brute_force(left @ right.T, 10)[0])
    assert 1 <= found.blocks < 40  # of 400


def test_a_lopsided_basis_is_balanced_before_blocks_are_left_out() -> None:
    """One dim large on the left alone: the plain norms would bound nothing."""
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((400, 4)) * 0.97 ** np.arange(400)[:, None] for _ in range(2))
    scale = np.array([1e4, 1.0, 1.0, 1.0])
    found = top_pairs(left * scale, right / scale, 10, block=20)
    assert close(found.value, brute_force(left @ right.T, 10)[0])
    assert found.blocks == top_pairs(left, right, 10, block=20).blocks


@given(rngs(), sizes, sizes, st.integers(1, 5))
def test_balanced_norms_bound_every_product(rng: np.random.Generator, rows: int, columns: int, n: int) -> None:
    left, right = rng.standard_normal((rows, n)) * 10.0 ** rng.uniform(-3, 3, n), rng.standard_normal((columns, n))
    a, b = balanced_norms(left, right)
    size = np.linalg.norm(left, axis=1).max() * np.linalg.norm(right, axis=1).max()
    assert (np.abs(left @ right.T) <= np.outer(a, b) + 1e-12 * size).all()
    # Both Gram matrices have the singular values of the products as their own: their traces agree.
    assert close(np.sum(a**2), np.linalg.svd(left @ right.T, compute_uv=False).sum(), 1e-8)
    assert close(np.sum(b**2), np.sum(a**2), 1e-8)


def test_equal_norms_leave_nothing_out() -> None:
    left = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))[0]
    assert top_pairs(left, left[::-1], 5, block=20).blocks == 9


@given(rngs(), sizes, sizes, sizes, st.integers(1, 20))
def test_skip_trigrams_written_out(
    rng: np.random.Generator, sources: int, destinations: int, outputs: int, k: int
) -> None:
    query, key = rng.standard_normal((destinations, 3)), rng.standard_normal((sources, 3))
    value, unembedding = rng.standard_normal((sources, 2)), rng.standard_normal((outputs, 2))
    triples = []
    for a in range(sources):
        b = max(range(destinations), key=lambda b: float(query[b] @ key[a]))
        c = max(range(outputs), key=lambda c: float(unembedding[c] @ value[a]))
        qk, ov = float(query[b] @ key[a]), float(unembedding[c] @ value[a])
        if qk > 0 and ov > 0:
            triples.append((qk * ov, a, b, c, qk, ov))
    triples.sort(reverse=True)
    found = skip_trigrams(query, key, value, unembedding, k)
    expected = triples[:k]
    assert found.source.tolist() == [row[1] for row in expected]
    assert found.destination.tolist() == [row[2] for row in expected]
    assert found.output.tolist() == [row[3] for row in expected]
    assert close(found.qk, np.array([row[4] for row in expected]))
    assert close(found.ov, np.array([row[5] for row in expected]))
