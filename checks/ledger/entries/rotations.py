"""Rotary positions: turns compose, keep lengths, leave scores to depend on distances, and split them into bands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from checks.ledger.entries.kernels import FLOAT32
from checks.ledger.entry import Entry, relative, rotary
from checks.ledger.site import LayerSite
from numerics.forms.reference import full_form

Float = NDArray[np.float64]

ANGLE = "an angle m·θ is off by 1e-12·(1 + m) (rotary.py), m < 256"


def composed(site: LayerSite) -> Float:
    """R_k R_m = R_{m+k}, up to the table's own scaling."""
    assert site.rotary is not None
    table, first = site.rotary, np.arange(site.length) // 2
    rest = np.arange(site.length) - first
    once = table.relative(site.plain_q, first + rest)
    twice = table.relative(table.relative(site.plain_q, first), rest)
    scaling = table.attention_scaling**2
    return relative(twice[..., : table.rotary_dim] / scaling - once[..., : table.rotary_dim], once)


def kept_length(site: LayerSite) -> Float:
    """‖R_m q‖ = ‖q‖ band by band, times the table's scaling."""
    assert site.rotary is not None
    table = site.rotary
    turned = table.rotate(site.plain_q, np.arange(site.length))
    sizes = [np.hypot(*table.pairs(vectors)) for vectors in (turned, site.plain_q)]
    return relative(sizes[0] / table.attention_scaling - sizes[1], sizes[1])


def by_distance(site: LayerSite) -> Float:
    """The model's own product of turned vectors = the query turned by the distance on the plain key."""
    assert site.rotary is not None
    keys = site.plain_k[site.kv]
    found = np.empty((site.heads.n_heads, len(site.queries), site.length))
    for row, n in enumerate(site.queries):
        turned = site.rotary.relative(site.plain_q[:, [n]].repeat(site.length, axis=1), n - np.arange(site.length))
        found[:, row] = site.heads.scale * np.sum(turned * keys, axis=-1)
    return relative(found - site.products[:, site.queries], site.products[:, site.queries])


def score_is_form(site: LayerSite) -> Float:
    """uᵀ W_Kᵀ R_δ W_Q v of the inputs, by the query's and key's rms where the model norms them, = the score."""
    assert site.rotary is not None
    heads, rng = site.heads, np.random.default_rng(site.layer)
    pairs = [(int(n), int(rng.integers(0, n + 1))) for n in site.queries[:3]]
    errors = np.zeros(heads.n_heads)
    for head in range(heads.n_heads):
        W_K, W_Q = site.factors(head)
        for i, j in pairs:
            form = full_form(W_K, W_Q, lambda vectors, i=i, j=j: site.rotary.relative(vectors, i - j))  # type: ignore[misc]
            rms_q = root_mean_square(heads.W_Q[head] @ site.x[i], heads.q_norm)
            rms_k = root_mean_square(heads.W_K[heads.kv_head(head)] @ site.x[j], heads.k_norm)
            found = heads.scale * float(site.x[j] @ form @ site.x[i]) / (rms_q * rms_k)
            size = np.abs(site.products[head, i]).max()
            errors[head] = max(errors[head], abs(found - site.products[head, i, j]) / size)
    return errors


def root_mean_square(vector: Float, norm: object) -> float:
    """What an RMS norm over one head divides by; 1 without a norm."""
    eps = getattr(norm, "eps", None)
    return 1.0 if eps is None else float(np.sqrt(np.mean(vector**2) + eps))


def plain_form(site: LayerSite) -> str:
    heads = site.heads
    norms = [norm for norm in (heads.q_norm, heads.k_norm) if norm is not None]
    if any(norm.kind != "rms" or norm.scope != "head" for norm in norms):
        return "its norm on queries and keys is not an RMS norm per head"
    return rotary(site) or ("its projections have biases" if np.any(heads.b_Q) or np.any(heads.b_K) else "")


ENTRIES = (
    Entry(
        "turning by m and then by k is turning by m + k",
        "§0",
        ("turn_act_comp", "pow_add"),
        (),
        "equality",
        composed,
        1e-9,
        ANGLE,
        applies=rotary,
    ),
    Entry(
        "a turn keeps the length of every band",
        "§0",
        ("turn_norm",),
        (),
        "equality",
        kept_length,
        1e-12,
        "cos² + sin² = 1 up to 2 eps",
        applies=rotary,
    ),
    Entry(
        "a score depends on positions through their distance alone",
        "§0",
        ("band_score_relative", "score_relative"),
        (),
        "equality",
        by_distance,
        1e-4,
        FLOAT32,
        applies=rotary,
    ),
    Entry(
        "the score is the form W_Kᵀ R_δ W_Q of the two inputs",
        "§1",
        ("rope_score_is_form",),
        ("forms.reference.full_form",),
        "equality",
        score_is_form,
        1e-4,
        FLOAT32,
        applies=plain_form,
    ),
)
