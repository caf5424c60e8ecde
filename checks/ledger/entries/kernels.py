"""Positional kernels: softmax identities, the four-term split, effective token counts, distances between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.ledger.entry import Entry, relative, unrotated
from checks.ledger.site import SKIP, LayerSite
from numerics.positional import spread
from numerics.positional.kernel import condition, positional_kernel, softmax_from_factors
from numerics.positional.split import four_terms, four_terms_reference, split_projection

Float = NDArray[np.float64]

EXP = "exponentials of scores up to 1e3 in size carry 1e3·eps; quotients and sums of T terms add little"
FLOAT32 = (
    "a model with rotary positions turns by float32 angles, off by m·2⁻²⁴ for queries and for keys, m < 256: 3e-5 of "
    "the score; its QK-norm rounds to float32, 64·2⁻²³"
)


def largest(values: Float) -> Float:
    """Per head (H, …) → (H,)."""
    top: Float = values.reshape(len(values), -1).max(axis=1)
    return top


def smallest(values: Float) -> Float:
    low: Float = values.reshape(len(values), -1).min(axis=1)
    return low


def kernel_times_content(site: LayerSite) -> Float:
    return largest(np.abs(softmax_from_factors(site.kernel, site.factor) - site.attention))


def four_term_sum(site: LayerSite) -> Float:
    """The parts of the score from weights and mean inputs, against the score that the model computed."""
    heads, at = site.heads, site.queries
    content = site.x - site.mean_input
    query = split_projection(site.mean_input[at], content[at], heads.W_Q, heads.b_Q, heads.q_norm)
    key = split_projection(site.mean_input, content, heads.W_K, heads.b_K, heads.k_norm)
    terms = four_terms(
        query, key,
        query_positions=at, key_positions=np.arange(site.length), scale=heads.scale,
        rotate=None if site.rotary is None else site.rotary.rotate,
        bias=None if site.bias is None else site.bias[:, at],
    )  # fmt: skip
    found, model = terms.score(heads.softcap), site.scores[:, at]
    known = np.isfinite(model)
    return relative(np.where(known, found - np.where(known, model, 0.0), 0.0), np.where(known, model, 0.0))


def four_terms_two_ways(site: LayerSite) -> Float:
    """Products of all heads at once against entry by entry, on the first queries and keys."""
    heads, at = site.heads, site.queries[:2]
    keys = np.arange(min(12, site.length))
    content = site.x - site.mean_input
    query = split_projection(site.mean_input[at], content[at], heads.W_Q, heads.b_Q, heads.q_norm)
    key = split_projection(site.mean_input[keys], content[keys], heads.W_K, heads.b_K, heads.k_norm)
    places: dict[str, Any] = {"query_positions": at, "key_positions": keys, "scale": heads.scale}
    fast = four_terms(query, key, rotate=None if site.rotary is None else site.rotary.rotate, **places)
    slow = four_terms_reference(query, key, relative=None if site.rotary is None else site.rotary.relative, **places)
    size = np.abs(slow.products())
    errors = [relative(a - b, size) for a, b in zip(fast[:4], slow[:4], strict=True)]
    worst: Float = np.max(errors, axis=0)
    return worst


def shift(site: LayerSite) -> Float:
    moved = site.exponents + np.linspace(-30, 30, len(site.queries))[:, None]
    return largest(np.abs(positional_kernel(moved, site.seen, SKIP) - site.kernel))


def without_key_bias(site: LayerSite) -> Float:
    """Scores of keys without b_K, softmaxed, against the model's attention."""
    heads = site.heads
    keys = np.einsum("gnd,td->gtn", heads.W_K, site.x)[site.kv]
    scores = heads.scale * site.q[:, site.queries] @ np.swapaxes(keys, -1, -2)
    if site.bias is not None:
        scores = scores + site.bias[:, site.queries]
    return largest(np.abs(positional_kernel(scores, site.seen) - site.pattern[:, site.queries]))


def no_key_bias(site: LayerSite) -> str:
    if site.heads.softcap is not None or site.heads.k_norm is not None:
        return "softcap or key norm"
    return unrotated(site) or ("" if np.any(site.heads.b_K) else "its keys have no bias")


def masked(site: LayerSite) -> Float:
    """Softmax over the admissible keys alone = softmax over all of them, conditioned."""
    inside = positional_kernel(site.known_scores, site.seen, SKIP)
    whole = positional_kernel(np.where(site.seen, site.scores[:, site.queries], 0.0), site.seen)
    return largest(np.abs(condition(whole, site.seen, SKIP)[0] - inside))


def centred_gap(site: LayerSite) -> tuple[Float, Float]:
    """ε (H, I): half the range of score − exponent over open keys; and the two softmaxes' distances are bound by it."""
    gap = np.where(site.open, site.known_scores - site.exponents, np.nan)
    return (np.nanmax(gap, axis=-1) - np.nanmin(gap, axis=-1)) / 2, gap


def within_factor(site: LayerSite) -> Float:
    """log(p/pos) between −2ε and 2ε."""
    ε, _ = centred_gap(site)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(site.open, np.log(site.attention) - np.log(site.kernel), 0.0)
    there = np.isfinite(ratio)  # where both weights are above the smallest float
    return smallest(2 * ε - np.abs(np.where(there, ratio, 0.0)).max(axis=-1))


def variation_bound(site: LayerSite) -> Float:
    """TV(attention, kernel) ≤ (e^{2ε} − 1)/2."""
    ε, _ = centred_gap(site)
    bound = np.expm1(np.minimum(2 * ε, 700.0)) / 2
    return smallest(bound - spread.total_variation(site.attention, site.kernel))


def one_at_least(site: LayerSite) -> Float:
    return smallest(spread.effective_token_count(site.kernel) - 1)


def support_at_most(site: LayerSite) -> Float:
    """ETC ≤ number of open keys ≤ T, by that number."""
    keys = site.open.sum(axis=-1)
    return smallest(1 - spread.effective_token_count(site.kernel) / keys)


def inverse_of_largest(site: LayerSite) -> Float:
    return smallest(spread.effective_token_count(site.kernel) * site.kernel.max(axis=-1) - 1)


def uniform_count(site: LayerSite) -> Float:
    uniform = spread.uniform_kernel(site.open)
    keys = site.open.sum(axis=-1)
    return np.array([np.max(np.abs(spread.effective_token_count(uniform) / keys - 1))])


def permuted_count(site: LayerSite) -> Float:
    shuffled = site.kernel[..., np.random.default_rng(site.layer).permutation(site.length)]
    return largest(np.abs(spread.effective_token_count(shuffled) / spread.effective_token_count(site.kernel) - 1))


def mixed_count(site: LayerSite) -> Float:
    """1/ETC of the mean of kernel and attention is at most the mean of the two 1/ETC."""
    mixed = 1 / spread.effective_token_count((site.kernel + site.attention) / 2)
    mean = (1 / spread.effective_token_count(site.kernel) + 1 / spread.effective_token_count(site.attention)) / 2
    return smallest(mean - mixed)


def consistency_two_ways(site: LayerSite) -> Float:
    texts = np.stack([site.kernel, site.attention, spread.uniform_kernel(site.open) + 0 * site.kernel])
    return np.abs(spread.query_consistency(texts) - spread.query_consistency_reference(texts))


ENTRIES = (
    Entry(
        "softmax(s) = pos·f / Σ pos·f: attention is kernel times content over its normaliser",
        "§2",
        ("Expo.softmax_kernel",),
        (
            "positional.kernel.exponents_of_positions",
            "positional.kernel.exponents_of_mean_key",
            "positional.kernel.positional_kernel",
            "positional.kernel.content_factor",
            "positional.kernel.softmax_from_factors",
        ),
        "equality",
        kernel_times_content,
        1e-10,
        EXP,
    ),
    Entry(
        "position × position + position × content + content × position + content × content + bias = score",
        "§2",
        ("score_four_terms",),
        ("positional.split.split_projection", "positional.split.four_terms", "positional.split.capped"),
        "equality",
        four_term_sum,
        1e-10,
        "weights and inputs in float64: D·n products of the score's size; " + FLOAT32,
        rounded=1e-4,
    ),
    Entry(
        "the four terms of all heads at once = entry by entry with the rotation on the query",
        "§2",
        (),
        ("positional.split.four_terms_reference", "positional.split.repeat_heads"),
        "equality",
        four_terms_two_ways,
        1e-11,
        "angles m·θ are rounded: 1e-12·(1 + m) (rotary.py), m ≤ 12 on the reference's side",
    ),
    Entry(
        "a constant added to a query's exponents changes no weight",
        "§2",
        ("Expo.softmax_shift",),
        ("positional.kernel.positional_kernel",),
        "equality",
        shift,
        1e-12,
        "exponents of size 1e3 plus 30: 1e3·eps",
    ),
    Entry(
        "without rotation the key bias drops out of the attention",
        "§2",
        ("Expo.key_bias_drops_out",),
        ("positional.kernel.positional_kernel",),
        "equality",
        without_key_bias,
        1e-10,
        EXP,
        applies=no_key_bias,
    ),
    Entry(
        "softmax over some keys = softmax over all, conditioned on them",
        "§2",
        ("Expo.masked_softmax_conditions",),
        ("positional.kernel.condition", "positional.kernel.admissible_keys"),
        "equality",
        masked,
        1e-10,
        EXP,
    ),
    Entry(
        "scores within ε give weights within a factor e^{±2ε}",
        "§2",
        ("Expo.softmax_within_factor", "Expo.softmax_at_least_factor"),
        ("positional.kernel.content_factor",),
        "inequality",
        within_factor,
        1e-9,
        "logarithms of weights down to 1e-308: 1e3·eps",
    ),
    Entry(
        "scores within ε give a total variation of at most (e^{2ε} − 1)/2",
        "§2",
        ("Expo.softmax_total_variation",),
        ("positional.spread.total_variation",),
        "inequality",
        variation_bound,
        1e-12,
        "a sum of T differences of weights: eps",
    ),
    Entry(
        "1 ≤ ETC",
        "§2",
        ("one_le_ETC",),
        ("positional.spread.effective_token_count",),
        "inequality",
        one_at_least,
        1e-12,
        "Σ pos² of weights that sum to 1 up to T·eps",
    ),
    Entry(
        "ETC ≤ number of keys that carry weight, and so ≤ n",
        "§2",
        ("ETC_le", "ETC_le_support"),
        ("positional.spread.effective_token_count",),
        "inequality",
        support_at_most,
        1e-12,
        "Σ pos² of weights that sum to 1 up to T·eps",
    ),
    Entry(
        "1/max pos ≤ ETC",
        "§2",
        ("inv_max_le_ETC",),
        ("positional.spread.effective_token_count",),
        "inequality",
        inverse_of_largest,
        1e-12,
        "Σ pos² of weights that sum to 1 up to T·eps",
    ),
    Entry(
        "ETC of the uniform kernel on m keys is m",
        "§2",
        ("ETC_uniform",),
        ("positional.spread.uniform_kernel",),
        "equality",
        uniform_count,
        1e-13,
        "a sum of m equal squares: m·eps at most",
    ),
    Entry(
        "ETC does not depend on the order of the keys",
        "§2",
        ("ETC_perm", "sum_perm"),
        ("positional.spread.effective_token_count",),
        "equality",
        permuted_count,
        1e-12,
        "the same squares added in another order: T·eps",
    ),
    Entry(
        "1/ETC of a mixture is at most the mixture of the 1/ETC",
        "§2",
        ("ETC_mix",),
        ("positional.spread.effective_token_count",),
        "inequality",
        mixed_count,
        1e-14,
        "sums of squares of weights: eps",
    ),
    Entry(
        "consistency from sorted weights = mean TV over all pairs of texts",
        "§2",
        (),
        ("positional.spread.query_consistency", "positional.spread.query_consistency_reference"),
        "equality",
        consistency_two_ways,
        1e-13,
        "T differences of weights: T·eps",
    ),
)
