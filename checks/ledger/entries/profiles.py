"""Profiles of bilinear forms: energies, coordinates, what leaves them unchanged, the random baseline."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from checks.ledger.entry import Entry
from checks.ledger.site import LayerSite
from numerics.forms.baseline import random_antisymmetric_share, random_factor, random_profile, random_weights
from numerics.forms.coordinates import profile_coordinates, split_signs
from numerics.forms.description import describe
from numerics.forms.folding import centring_mean, fold_input_norm, fold_output_norm
from numerics.forms.reduction import reduce_by_gram, reduce_by_qr, reduce_directly, scaled
from numerics.forms.reference import extras_by_definition, full_form, profile_by_definition
from numerics.forms.spectrum import antisymmetric_energy, symmetric_part, symmetric_spectrum

Float = NDArray[np.float64]

ROUNDED_SUM = "sums of at most D·2n products of numbers of size 1, rounded: some 1e3·eps relative to ‖L‖²"
DRAWS = 200


def each(measure: Callable[[LayerSite, int], float]) -> Callable[[LayerSite], Float]:
    """One number per head; NaN for a head whose form is zero."""

    def of_heads(site: LayerSite) -> Float:
        return np.array(
            [measure(site, head) if np.any(form) else np.nan for head, form in enumerate(site.forms)], dtype=np.float64
        )

    return of_heads


def profile_of(form: Float) -> Float:
    return profile_coordinates(symmetric_spectrum(form), antisymmetric_energy(form))


def apart(first: Float, second: Float) -> float:
    return float(np.max(np.abs(first - second)))


def energy_split(site: LayerSite, head: int) -> float:
    """‖L‖² = ‖S‖² + ‖T‖², ‖S‖² = (‖L‖² + tr L²)/2, ‖T‖² = (‖L‖² − tr L²)/2."""
    L = site.forms[head]
    total, square = float(np.sum(L**2)), float(np.sum(L * L.T))
    S, T = float(np.sum(symmetric_part(L) ** 2)), antisymmetric_energy(L)
    return max(abs(total - S - T), abs(S - (total + square) / 2), abs(T - (total - square) / 2)) / total


def eigenvalue_energy(site: LayerSite, head: int) -> float:
    """‖S‖² = Σ λ²."""
    L = site.forms[head]
    return abs(float(np.sum(symmetric_part(L) ** 2) - np.sum(site.spectra[head] ** 2))) / float(np.sum(L**2))


def gram_energies(site: LayerSite, head: int) -> float:
    """‖L‖² = tr(G_K G_Q), tr L² = tr((W_Q W_Kᵀ)²), on the head's own weights."""
    W_K, W_Q = site.factors(head)
    L, cross = full_form(W_K, W_Q), W_Q @ W_K.T
    total = float(np.sum(L**2))
    energy = float(np.sum((W_K @ W_K.T) * (W_Q @ W_Q.T)))
    return max(abs(energy - total), abs(float(np.sum(cross * cross.T) - np.sum(L * L.T)))) / total


def reduction_paths(site: LayerSite, head: int) -> float:
    """Eigenvalues of S from the small matrix, by every path that can be taken, against the whole D × D form."""
    W_K, W_Q = site.factors(head)
    L = full_form(W_K / np.linalg.norm(W_K), W_Q / np.linalg.norm(W_Q))
    whole = np.linalg.eigvalsh((L + L.T) / 2)
    paths = [reduce_by_qr(W_K, W_Q), reduce_directly(W_K, W_Q), reduce_by_gram(W_K, W_Q)]
    worst = 0.0
    for reduction in paths:
        if reduction is None:
            continue
        small = symmetric_spectrum(reduction.form())
        padded = np.sort(np.concatenate([small, np.zeros(max(0, len(whole) - len(small)))]))
        worst = max(worst, float(np.max(np.abs(padded - whole))))
    return worst / float(np.linalg.norm(L))


def simplex(site: LayerSite, head: int) -> float:
    profile = site.profiles[head]
    return float(max(abs(profile.sum() - 1), -profile.min()))


def fast_against_definition(site: LayerSite, head: int) -> float:
    return apart(site.profiles[head], profile_by_definition(site.forms[head]))


def scale_transpose_sign(site: LayerSite, head: int) -> float:
    """t·L, t > 0, and Lᵀ have the profile of L; −L swaps c and d."""
    L, own = site.forms[head], site.profiles[head]
    return max(apart(own, profile_of(3.7 * L)), apart(own, profile_of(L.T)), apart(own[[0, 1, 3, 2]], profile_of(-L)))


def congruence(site: LayerSite, head: int) -> float:
    """UᵀLU, U orthogonal, has the energies, the spectrum and the profile of L."""
    L = site.forms[head]
    U = np.linalg.qr(np.random.default_rng([site.layer, head]).standard_normal(L.shape))[0]
    turned = U.T @ L @ U
    size, spectrum = float(np.linalg.norm(L)), symmetric_spectrum(turned)
    energies = [(np.sum(M**2), np.sum(M * M.T)) for M in (L, turned)]
    return max(
        apart(site.profiles[head], profile_coordinates(spectrum, antisymmetric_energy(turned))),
        apart(site.spectra[head], spectrum) / size,
        apart(np.array(energies[0]), np.array(energies[1])) / size**2,
    )


def order_of_eigenvalues(site: LayerSite, head: int) -> float:
    """The lobes do not depend on the order in which eigenvalues come, nor the profile on zeros added to them."""
    L = site.forms[head]
    eigenvalues, energy = site.spectra[head], antisymmetric_energy(L)
    shuffled = np.random.default_rng([site.layer, head]).permutation(np.concatenate([eigenvalues, np.zeros(7)]))
    own, other = split_signs(eigenvalues), split_signs(shuffled)
    profiles = apart(profile_coordinates(eigenvalues, energy), profile_coordinates(shuffled, energy))
    return max(profiles, *(apart(a, b[: len(a)]) for a, b in zip(own, other, strict=True)))


def decreasing_pairing(site: LayerSite, head: int) -> float:
    """b of the decreasing pairing less b of a random one."""
    positive, negative = split_signs(site.spectra[head])
    shuffled = np.random.default_rng([site.layer, head]).permutation(negative)
    return float(2 * (positive @ negative - positive @ shuffled) / np.sum(site.forms[head] ** 2))


def extras(site: LayerSite, head: int) -> float:
    """The numbers that describe a form, against the definitions on the D × D matrix."""
    L = site.forms[head]
    numbers, slow = describe(L, site.reductions[head].noise), extras_by_definition(L)
    errors = [abs(getattr(numbers, name) - value) / max(1.0, abs(value)) for name, value in slow.items()]
    return float(max(errors))


def random_share(site: LayerSite) -> Float:
    """Antisymmetric share of random heads of the layer's shape: mean over draws less formula, in standard errors."""
    heads, norm = site.heads, site.heads.norm
    worst = 0.0
    # Raw, the layers differ in nothing but their draws: the first one's are enough.
    for folded in [False] * (site.layer == 0) + [True] * (norm is not None):
        centred = folded and norm is not None and norm.kind == "layernorm"
        gain = norm.gain if folded and norm is not None else None
        rng, energies = np.random.default_rng([site.layer, folded]), []
        for _ in range(DRAWS // 10 if folded else DRAWS):
            key, query = (
                random_factor(rng, heads.head_dim, heads.width)
                if gain is None
                else random_weights(rng, heads.head_dim, gain, centred)
            )
            cross, whole = query @ key.T, float(np.sum((key @ key.T) * (query @ query.T)))
            energies.append((whole, (whole - float(np.sum(cross * cross.T))) / 2))
        table = np.array(energies)
        share = random_antisymmetric_share(heads.width, gain, centred)
        surplus = table[:, 1] - share * table[:, 0]  # of mean zero if the formula holds
        error = surplus.std(ddof=1) / np.sqrt(len(table))
        worst = max(worst, abs(surplus.mean()) / error)
    return np.array([worst if site.layer == 0 or norm is not None else np.nan])


def baseline_is_a_profile(site: LayerSite) -> Float:
    """Of random heads: sums to one, a as the formula says, c = d."""
    rng, heads = np.random.default_rng(site.layer), site.heads
    simulated = []
    for _ in range(8):
        form = scaled(*random_factor(rng, heads.head_dim, heads.width), heads.width).form()
        simulated.append(describe(form).profile)
    share = random_antisymmetric_share(heads.width)
    a, b, c, d = random_profile(share, np.stack(simulated))
    return np.array([max(abs(a + b + c + d - 1), abs(a - share), abs(c - d))])


def folded_norms(site: LayerSite) -> Float:
    """W Γ C x = W (γ·(x − mean x)), and the same on the output side: the folded matrix does what the norm does."""
    heads, rng = site.heads, np.random.default_rng(site.layer)
    W, x = heads.W_Q[0], rng.standard_normal(heads.width)
    gain = np.ones(heads.width) if heads.norm is None else heads.norm.gain
    errors = []
    for centred in (False, True):
        input_ = gain * (x - x.mean() if centred else x)
        errors.append(apart(fold_input_norm(W, gain, centred) @ x, W @ input_) / np.linalg.norm(W @ input_))
        out_gain, out = rng.standard_normal(heads.head_dim), W @ x
        normed = out_gain * (out - out.mean() if centred else out)
        folded = fold_output_norm(W, out_gain, centring_mean(W) if centred else None) @ x
        errors.append(apart(folded, normed) / np.linalg.norm(normed))
    return np.array([max(errors)])


PATHS = "forward error of the Gram path, eps·κ·‖M‖² with κ ≤ 1e4 (reduction.py): 2e-12"

ENTRIES = (
    Entry(
        "‖L‖² = ‖S‖² + ‖T‖², ‖S‖² = ½(‖L‖² + tr L²), ‖T‖² = ½(‖L‖² − tr L²)",
        "§1",
        ("frob_split", "frob_symm", "frob_skew"),
        ("forms.spectrum.symmetric_part", "forms.spectrum.antisymmetric_energy"),
        "equality",
        each(energy_split),
        1e-12,
        ROUNDED_SUM,
    ),
    Entry(
        "‖S‖² is the sum of the squared eigenvalues of S",
        "§1",
        ("frob_diag",),
        ("forms.spectrum.symmetric_spectrum",),
        "equality",
        each(eigenvalue_energy),
        1e-12,
        ROUNDED_SUM,
    ),
    Entry(
        "‖L‖² = tr(G_K G_Q) and tr L² = tr((W_Q W_Kᵀ)²)",
        "§1",
        ("gram_frob", "gram_trsq"),
        ("forms.reference.full_form",),
        "equality",
        each(gram_energies),
        1e-12,
        ROUNDED_SUM,
    ),
    Entry(
        "the small matrix has the eigenvalues of the D × D form, zeros aside",
        "§1",
        ("reduction_exact", "spectrum_reduction", "profile_zero_padding", "profile_pad"),
        (
            "forms.reduction.reduce_pair",
            "forms.reduction.reduce_by_gram",
            "forms.reduction.reduce_by_qr",
            "forms.reduction.reduce_directly",
            "forms.reduction.scaled",
        ),
        "equality",
        each(reduction_paths),
        1e-11,
        PATHS,
    ),
    Entry(
        "(a, b, c, d) ≥ 0 with sum 1",
        "§1",
        ("profile_simplex",),
        ("forms.coordinates.profile_coordinates",),
        "equality",
        each(simplex),
        1e-14,
        "one division and a sum of four: 4 eps",
    ),
    Entry(
        "profile by the fast path = profile by its definition, pair by pair of eigenvalues",
        "§1",
        (),
        ("forms.coordinates.profile_coordinates", "forms.reference.profile_by_definition"),
        "equality",
        each(fast_against_definition),
        1e-12,
        ROUNDED_SUM,
    ),
    Entry(
        "tL (t > 0) and Lᵀ have the profile of L, −L swaps c and d",
        "§1",
        ("profile_scale", "profile_transpose", "profile_neg"),
        ("forms.coordinates.profile_coordinates",),
        "equality",
        each(scale_transpose_sign),
        1e-12,
        ROUNDED_SUM,
    ),
    Entry(
        "UᵀLU with orthogonal U keeps ‖L‖, tr L², the spectrum and the profile",
        "§1",
        ("spectrum_congr", "profile_congr", "frob_orth_congr", "trsq_orth_congr"),
        ("forms.coordinates.profile_coordinates", "forms.spectrum.symmetric_spectrum"),
        "equality",
        each(congruence),
        1e-11,
        "two products with a matrix that is orthogonal to eps·√r: some 1e4·eps",
    ),
    Entry(
        "lobes and profile do not depend on the order of the eigenvalues, nor on added zeros",
        "§1",
        ("profile_perm", "lobes_unique", "decreasing_rearrangement_unique"),
        ("forms.coordinates.split_signs",),
        "equality",
        each(order_of_eigenvalues),
        1e-14,
        "the same numbers in the same order after sorting; sums of other lengths may pair differently: eps",
    ),
    Entry(
        "no pairing of the lobes gives a larger b than the decreasing one",
        "§1",
        ("decreasing_pairing_maximises_b", "rearrangement"),
        ("forms.coordinates.split_signs",),
        "inequality",
        each(decreasing_pairing),
        1e-14,
        "two sums of the same size: eps",
    ),
    Entry(
        "pairing, balance, ranks, trace ratio and counts = their definitions on the whole matrix",
        "§1",
        (),
        ("forms.description.describe", "forms.reference.extras_by_definition"),
        "equality",
        each(extras),
        1e-7,
        "pairing is 1 − √(…): where c + d vanishes an error of 1e-15 becomes its root",
    ),
    Entry(
        "random heads: E‖T‖² : E‖L‖² = ½(1 − tr P²/(tr P)²), raw and with the norm folded in",
        "§1",
        ("baseline_uncorrelated", "baseline_iid", "baseline_independent", "baseline_product", "baseline_folded"),
        ("forms.baseline.random_antisymmetric_share", "forms.baseline.random_factor", "forms.baseline.random_weights"),
        "equality",
        random_share,
        6.0,
        "standard errors of a seeded simulation; six are exceeded once in 5e8 normal draws",
    ),
    Entry(
        "the baseline is a point of the simplex with c = d",
        "§1",
        (),
        ("forms.baseline.random_profile",),
        "equality",
        baseline_is_a_profile,
        1e-14,
        "four additions: eps",
    ),
    Entry(
        "a folded matrix does to a vector what the norm's linear part and the matrix do",
        "§1",
        (),
        ("forms.folding.fold_input_norm", "forms.folding.fold_output_norm", "forms.folding.centring_mean"),
        "equality",
        folded_norms,
        1e-12,
        "sums of D products: √D·eps, D ≤ 1e5",
    ),
)
