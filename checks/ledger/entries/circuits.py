"""Circuits of heads: QK and OV, their freedom of basis, composition, virtual heads, copying."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from checks.ledger.entry import Entry
from checks.ledger.site import LayerSite
from numerics.circuits.composition import composition, sides
from numerics.circuits.copying import copying_eigenvalues, copying_product, copying_score, cross_gram, own_logit_lift
from numerics.circuits.factors import Factors
from numerics.circuits.paths import path_expansion
from numerics.circuits.virtual import virtual_output, virtual_pattern, virtual_seen

Float = NDArray[np.float64]

THIN = "products of thin factors, D·n terms of the result's norm"
WORDS = 48


def factors(site: LayerSite, head: int) -> Factors:
    """The head's factors with its QK gains, no other norm folded in."""
    W_K, W_Q = site.factors(head)
    heads = site.heads
    return Factors(W_Q, W_K, heads.W_V[heads.kv_head(head)], heads.W_O[head])


def each(measure: Callable[[LayerSite, int], float]) -> Callable[[LayerSite], Float]:
    return lambda site: np.array([measure(site, head) for head in range(site.heads.n_heads)], dtype=np.float64)


def apart(first: Float, second: Float) -> float:
    """Largest difference by the size of the second."""
    return float(np.linalg.norm(first - second) / np.linalg.norm(second))


def rng_of(site: LayerSite, head: int) -> np.random.Generator:
    return np.random.default_rng([site.layer, head])


def score_from_product(site: LayerSite, head: int) -> float:
    """(W_Q x)·(W_K y) for all pairs of inputs = xᵀ QK y, and from the product's singular vectors again."""
    own = factors(site, head)
    x = site.x[::8]
    QK = own.QK()
    left, sizes, right = np.linalg.svd(own.triangles.query @ own.triangles.key.T)
    del left, right
    norm = abs(float(np.sum(sizes**2) / np.sum(QK**2)) - 1)
    return max(apart(x @ QK @ x.T, (x @ own.query.T) @ (x @ own.key.T).T), norm)


def bases(site: LayerSite, head: int) -> float:
    """MᵀN = 1 on queries and keys, any invertible N on values: QK and OV stay."""
    own, rng = factors(site, head), rng_of(site, head)
    n, n_v = len(own.query), len(own.value)
    M = np.linalg.qr(rng.standard_normal((n, n)))[0] @ np.diag(rng.uniform(0.5, 2, n))
    N = np.linalg.qr(rng.standard_normal((n_v, n_v)))[0] @ np.diag(rng.uniform(0.5, 2, n_v))
    moved = Factors(M @ own.query, np.linalg.inv(M).T @ own.key, N @ own.value, own.output @ np.linalg.inv(N))
    x = site.x[::8]
    QK = apart((x @ moved.query.T) @ (x @ moved.key.T).T, (x @ own.query.T) @ (x @ own.key.T).T)
    return max(QK, apart((x @ moved.value.T) @ moved.output.T, (x @ own.value.T) @ own.output.T))


def pattern_and_output(site: LayerSite, head: int) -> float:
    """A (X W_Vᵀ) W_Oᵀ = A X OVᵀ, tokens first or width first; entry by entry the Kronecker product on a few places."""
    own, A = factors(site, head), site.pattern[head]
    output = (A @ (site.x @ own.value.T)) @ own.output.T
    OV = own.OV()
    places = rng_of(site, head).integers(0, [len(A), len(OV)], (6, 2))
    kron = [float(np.einsum("j,e,je->", A[i], OV[d], site.x)) for i, d in places]
    errors = [apart(A @ (site.x @ OV.T), output), apart((A @ site.x) @ OV.T, output)]
    return max(*errors, apart(np.array(kron), output[places[:, 0], places[:, 1]]))


def two_heads(site: LayerSite, head: int) -> float:
    """Head after head = one virtual head, and two layers of them expand into their paths."""
    other = (head + 1) % site.heads.n_heads
    first, second = factors(site, head), factors(site, other)
    A, B, X = site.pattern[head], site.pattern[other], site.x
    through = B @ (A @ (X @ first.value.T) @ first.output.T @ second.value.T) @ second.output.T
    virtual = virtual_output(first, second)
    joined = virtual_pattern(B, A) @ (X @ virtual.value.T) @ virtual.output.T
    own = [P @ (X @ f.value.T) @ f.output.T for P, f in ((A, first), (B, second))]
    stacked = X + own[0] + B @ ((X + own[0]) @ second.value.T) @ second.output.T
    unreachable = virtual_pattern(B, A)[~virtual_seen(site.admissible, site.admissible)]
    return max(apart(joined, through), apart(X + own[0] + own[1] + joined, stacked), float(np.abs(unreachable).sum()))


def paths(site: LayerSite) -> Float:
    """The layer alone as an attention-only model, unembedded by random directions: direct path + heads = logits."""
    heads, rng = site.heads, np.random.default_rng(site.layer)
    U = rng.standard_normal((WORDS, heads.width))
    values = heads.W_V[site.kv]
    found = path_expansion(site.x, site.pattern, values, heads.W_O, U).sum(axis=0)
    mixed = sum(site.pattern[head] @ (site.x @ values[head].T) @ heads.W_O[head].T for head in range(heads.n_heads))
    return np.array([apart(found, (site.x + mixed) @ U.T)])


def copying_matrix(site: LayerSite, head: int) -> float:
    """Power sums of the eigenvalues of W_U OV W_E, from the n × n product and from the words × words matrix."""
    own, rng = factors(site, head), rng_of(site, head)
    E, U = rng.standard_normal((2, WORDS, site.heads.width))
    eigenvalues = copying_eigenvalues(copying_product(own.value, own.output, cross_gram(E, U)))
    matrix = (U @ own.output) @ (own.value @ E.T)
    power, worst = np.eye(WORDS), 0.0
    for r in (1, 2, 3):
        power = power @ matrix
        size = float(np.sum(np.abs(eigenvalues) ** r))
        worst = max(worst, abs(complex(np.sum(eigenvalues**r)) - np.trace(power)) / size)
    lift = own_logit_lift(E @ own.value.T, U, own.output)
    score = abs(copying_score(eigenvalues) * float(np.abs(eigenvalues).sum()) - np.trace(matrix))
    size = float(np.abs(eigenvalues).sum())
    return float(max(worst, apart(lift, np.diag(matrix)), score / size))


def same_eigenvalues(site: LayerSite, head: int) -> float:
    """The largest eigenvalue of the n × n product is one of the words × words matrix: nearest distance, relative."""
    own, rng = factors(site, head), rng_of(site, head)
    E, U = rng.standard_normal((2, WORDS, site.heads.width))
    own_values = copying_eigenvalues(copying_product(own.value, own.output, cross_gram(E, U)))
    whole = np.linalg.eigvals((U @ own.output) @ (own.value @ E.T))
    leading = own_values[: max(1, min(4, WORDS // 4))]
    gaps = [np.min(np.abs(whole - value)) for value in leading]
    return float(max(gaps) / np.abs(whole).max())


def all_scores(site: LayerSite) -> tuple[Float, list[Factors]]:
    """Composition (3, H, H) of the layer's heads with each other, as if they stood one above the other."""
    heads = [factors(site, head) for head in range(site.heads.n_heads)]
    halves = [sides(head) for head in heads]
    reads = np.stack([half.read for half in halves], axis=1)
    return composition(reads, np.stack([half.write for half in halves])), heads


def composition_in_unit(site: LayerSite) -> Float:
    scores, _ = all_scores(site)
    return np.asarray(np.minimum(scores.min(axis=(0, 2)), 1 - scores.max(axis=(0, 2))))


def composition_by_definition(site: LayerSite) -> Float:
    """‖L₂ OV₁‖, ‖L₂ᵀ OV₁‖, ‖OV₂ OV₁‖ over the norms, from D × D matrices, of each head on its neighbour."""
    scores, heads = all_scores(site)
    errors = np.zeros(len(heads))
    for later, head in enumerate(heads):
        earlier = (later + 1) % len(heads)
        L, OV, written = head.QK().T, head.OV(), heads[earlier].OV()
        slow = [np.linalg.norm(M @ written) / (np.linalg.norm(M) * np.linalg.norm(written)) for M in (L, L.T, OV)]
        errors[later] = np.max(np.abs(scores[:, later, earlier] - np.array(slow)))
    return errors


def turned_basis(site: LayerSite) -> Float:
    """An orthonormal change of basis of the residual stream (a reflection) changes no score."""
    scores, heads = all_scores(site)
    v = np.random.default_rng(site.layer).standard_normal(site.heads.width)
    v /= np.linalg.norm(v)

    def turned(W: Float) -> Float:
        return np.asarray(W - 2 * np.outer(W @ v, v))

    moved = [Factors(turned(h.query), turned(h.key), turned(h.value), turned(h.output.T).T) for h in heads]
    halves = [sides(head) for head in moved]
    reads = np.stack([half.read for half in halves], axis=1)
    other = composition(reads, np.stack([half.write for half in halves]))
    return np.asarray(np.abs(other - scores).max(axis=(0, 2)))


def in_circuits(*names: str) -> tuple[str, ...]:
    return tuple(f"circuits.{name}" for name in names)


ENTRIES = (
    Entry(
        "scores see W_Q and W_K only through W_QᵀW_K",
        "§6",
        ("score_sees_only_qk", "scores_determine_qk"),
        in_circuits("factors.triangle"),
        "equality",
        each(score_from_product),
        1e-11,
        THIN,
    ),
    Entry(
        "a change of basis of the n dims of queries and keys, or of values, changes neither QK nor OV",
        "§6",
        ("qk_change_of_basis", "ov_change_of_basis"),
        (),
        "equality",
        each(bases),
        1e-11,
        "an inverse of condition 4: " + THIN,
    ),
    Entry(
        "a head's output is A X OVᵀ, tokens or width first: (A ⊗ OV) on the residual stream",
        "§6",
        ("output_sees_only_ov", "qk_ov_separate", "head_is_kronecker"),
        (),
        "equality",
        each(pattern_and_output),
        1e-11,
        THIN,
    ),
    Entry(
        "two heads in a row are one virtual head, and their paths sum to two layers",
        "§6",
        ("virtual_head", "path_expansion_two_layers_heads"),
        in_circuits("virtual.virtual_output", "virtual.virtual_pattern", "virtual.virtual_seen"),
        "equality",
        each(two_heads),
        1e-11,
        THIN,
    ),
    Entry(
        "one attention layer: logits = direct path + Σ_h A_h ⊗ (W_U OV_h W_E)",
        "§6",
        ("path_expansion",),
        in_circuits("paths.path_expansion"),
        "equality",
        paths,
        1e-11,
        THIN,
    ),
    Entry(
        "power sums of the copying matrix's eigenvalues come from the n × n product",
        "§6",
        ("copying_trace_powers",),
        in_circuits(
            "copying.cross_gram",
            "copying.copying_product",
            "copying.copying_eigenvalues",
            "copying.copying_score",
            "copying.own_logit_lift",
        ),
        "equality",
        each(copying_matrix),
        1e-10,
        "eigenvalues of non-normal matrices are off by κ·eps; their power sums by as much as traces are",
    ),
    Entry(
        "nonzero eigenvalues of W_U OV W_E are those of the n × n product",
        "§6",
        ("copying_eigenvalue_iff",),
        in_circuits("copying.copying_eigenvalues"),
        "equality",
        each(same_eigenvalues),
        1e-7,
        "leading eigenvalues of non-normal matrices: condition numbers up to 1e8 would still show 1e-8",
    ),
    Entry(
        "composition scores lie in [0, 1]",
        "§6",
        ("composition_in_unit_interval", "frob_mul_le"),
        in_circuits("composition.composition"),
        "inequality",
        composition_in_unit,
        1e-12,
        THIN,
    ),
    Entry(
        "composition from n × n products = Frobenius ratios of the D × D matrices",
        "§6",
        (),
        in_circuits("composition.sides", "composition.composition"),
        "equality",
        composition_by_definition,
        1e-11,
        THIN,
    ),
    Entry(
        "an orthonormal change of basis of the residual stream changes no composition score",
        "§6",
        ("composition_orthonormal_invariant",),
        in_circuits("composition.composition"),
        "equality",
        turned_basis,
        1e-11,
        THIN,
    ),
)
