"""RoPE bands: the split of a score, activation by half-planes, entropy shares, attribution to pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from checks.ledger.entries.kernels import largest, smallest
from checks.ledger.entry import Entry, relative, rotary
from checks.ledger.site import LayerSite
from numerics.bands.activation import row_activation, total_activation, unrotated_activation
from numerics.bands.attribution import pair_attribution
from numerics.bands.entropy import entropy_attribution
from numerics.bands.importance import importance
from numerics.bands.scaling import scale_bands
from numerics.bands.split import band_pairs, band_scores

Float = NDArray[np.float64]

NODES = "quadrature refined until the identity holds to this (BANDS: 16, 32, 64 nodes)"


def bands_of(site: LayerSite) -> dict[str, Any]:
    assert site.rotary is not None
    return {"n_bands": site.rotary.n_bands, "pairing": site.rotary.pairing, "scale": site.heads.scale}


def parts(site: LayerSite) -> Float:
    """Band scores (H, I, T, B[+1]) of the chosen queries, 0 at keys they may not see."""
    q, k = site.q[:, site.queries, None], site.keys[:, None]
    return np.where(site.seen[..., None], band_scores(q, k, **bands_of(site)), 0.0)


def products(site: LayerSite) -> Float:
    return np.where(site.seen, site.products[:, site.queries], 0.0)


def split_sum(site: LayerSite) -> Float:
    return relative(parts(site).sum(axis=-1) - products(site), products(site))


def activation_bound(site: LayerSite) -> Float:
    """|score| ≤ Σ_b |x_b|, by the largest of the right sides."""
    right = np.abs(parts(site)).sum(axis=-1)
    slack = right - np.abs(products(site))
    return smallest(slack / right.reshape(len(right), -1).max(axis=1)[:, None, None])


def zeroed_bands(site: LayerSite) -> Float:
    """Half of the bands zeroed in q by the ablation itself: the score moves by at most the activation removed."""
    assert site.rotary is not None
    kept = np.random.default_rng(site.layer).random((site.heads.n_heads, site.rotary.n_bands)) < 0.5
    scaled = scale_bands(torch.as_tensor(site.q), torch.as_tensor(kept, dtype=torch.float64), site.rotary.pairing)
    left = site.heads.scale * scaled.numpy()[:, site.queries] @ np.swapaxes(site.keys, -1, -2)
    moved = np.abs(products(site) - np.where(site.seen, left, 0.0))
    of_bands = np.abs(parts(site)[..., : site.rotary.n_bands])
    removed = np.sum(np.where(kept[:, None, None], 0.0, of_bands), axis=-1)
    return smallest((removed - moved) / of_bands.sum(axis=-1).reshape(len(kept), -1).max(axis=1)[:, None, None])


def activation_by_definition(site: LayerSite) -> tuple[Float, Float]:
    """Σ|x_b| (H, B) pair by pair from the products of all queries, and Σ|q||k| of the same bands, which bounds it."""
    options = bands_of(site)
    scale = options.pop("scale")
    q, k = (band_pairs(x, **options)[0] for x in (site.q, site.keys))
    found, sizes = np.zeros(q.shape[::2]), np.zeros(q.shape[::2])
    for band in range(q.shape[2]):
        x = q[:, :, band] @ np.swapaxes(k[:, :, band], -1, -2)
        size = np.linalg.norm(q[:, :, band], axis=-1)[:, :, None] * np.linalg.norm(k[:, :, band], axis=-1)[:, None]
        found[:, band] = scale * np.sum(np.abs(x) * site.admissible, axis=(1, 2))
        sizes[:, band] = scale * np.sum(size * site.admissible, axis=(1, 2))
    return found, sizes


def by_size(errors: Float, sizes: Float) -> Float:
    """Errors by Σ|q||k|; as they are where that is zero (a gain of zero takes a band away), and they have to be too."""
    return np.asarray(errors / np.where(sizes > 0, sizes, 1.0))


def half_planes(site: LayerSite) -> Float:
    """Total activation by sorted half-planes and prefix sums against the definition."""
    found, sizes = activation_by_definition(site)
    fast = total_activation(site.q, site.k, **bands_of(site), window=site.heads.window, path="halfplane")
    return largest(by_size(np.abs(fast - found), sizes))


def other_paths(site: LayerSite) -> Float:
    """The reference, all pairs strip by strip, and row sums added up."""
    found, sizes = activation_by_definition(site)
    options = bands_of(site) | {"window": site.heads.window}
    ways = [
        total_activation(site.q, site.k, **options, path="reference"),
        total_activation(site.q, site.k, **options, path="direct"),
        row_activation(site.q, site.k, **options).sum(axis=-1),
    ]
    return largest(np.max([by_size(np.abs(way - found), sizes) for way in ways], axis=0))


def unrotated_part(site: LayerSite) -> Float:
    assert site.rotary is not None
    rest = slice(site.rotary.rotary_dim, None)
    x = site.heads.scale * site.q[..., rest] @ np.swapaxes(site.keys[..., rest], -1, -2)
    slow = np.sum(np.abs(x) * site.admissible, axis=(1, 2))
    fast = unrotated_activation(site.q[..., rest], site.k[..., rest], scale=site.heads.scale, window=site.heads.window)
    return np.asarray(np.abs(fast - slow) / slow)


def partly_rotary(site: LayerSite) -> str:
    if site.rotary is not None and site.rotary.rotary_dim == site.heads.head_dim:
        return "all its dims rotate"
    return rotary(site)


def entropy_shares(site: LayerSite) -> Float:
    """Σ_b h_b against Σ_i H − log N of the model's own attention, per query."""
    found = entropy_attribution(site.q, site.k, **bands_of(site), window=site.heads.window, softcap=site.heads.softcap)
    p = site.pattern
    entropy = -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0), axis=-1)
    change = np.sum(entropy - np.log(site.admissible.sum(axis=-1)), axis=-1)
    return np.asarray(np.abs(found.bands.sum(axis=-1) + found.unrotated - change) / site.length)


def shifted_keys(site: LayerSite) -> Float:
    """A vector added to all keys changes no entropy share."""
    options = bands_of(site) | {"window": site.heads.window}
    shift = np.random.default_rng(site.layer).standard_normal(site.k.shape[-1]) * np.abs(site.k).mean()
    own = entropy_attribution(site.q, site.k, **options)
    moved = entropy_attribution(site.q, site.k + shift, **options)
    return largest(np.abs(own.bands - moved.bands)) / site.length


def uncapped(site: LayerSite) -> str:
    return rotary(site) or ("" if site.heads.softcap is None else "softcap: keys do not enter by their products alone")


def pairs_of_last_query(site: LayerSite) -> list[tuple[Float, Float, Float]]:
    """Per head: attribution (N, B), the model's own probabilities (N,), 1/N of the last query."""
    seen = site.admissible[-1]
    found = []
    for head in range(site.heads.n_heads):
        result = pair_attribution(site.q[head, -1], site.keys[head, seen], **bands_of(site), softcap=site.heads.softcap)
        found.append((result.attribution, site.pattern[head, -1, seen], np.asarray(1 / seen.sum())))
    return found


def attribution_over_bands(site: LayerSite) -> Float:
    return np.array([np.max(np.abs(c.sum(axis=1) - p)) / p.max() for c, p, _ in pairs_of_last_query(site)])


def attribution_over_keys(site: LayerSite) -> Float:
    return np.array(
        [max(np.max(np.abs(c.sum(axis=0) - 1 / c.shape[1])), abs(c.sum() - 1)) for c, _, _ in pairs_of_last_query(site)]
    )


def largest_is_one(site: LayerSite) -> Float:
    found, _ = activation_by_definition(site)
    return np.asarray(np.abs(importance("activation", found).max(axis=-1) - 1))


def in_bands(*names: str) -> tuple[str, ...]:
    return tuple(f"bands.{name}" for name in names)


ENTRIES = (
    Entry(
        "the bands' products, and that of the dims that do not rotate, sum to the score",
        "§5",
        ("score_band_split",),
        in_bands("split.band_pairs", "split.band_sums", "split.band_scores"),
        "equality",
        split_sum,
        1e-12,
        "a sum of n products in another order: n·eps",
        applies=rotary,
    ),
    Entry(
        "|score| ≤ Σ_b |x^b|",
        "§5",
        ("activation_bounds_score",),
        in_bands("split.band_scores"),
        "inequality",
        activation_bound,
        1e-12,
        "a sum of n products in another order: n·eps",
        applies=rotary,
    ),
    Entry(
        "zeroing bands in q moves a score by at most their activation",
        "§5",
        ("zeroing_bands_moves_at_most",),
        in_bands("scaling.scale_bands"),
        "inequality",
        zeroed_bands,
        1e-12,
        "a sum of n products in another order: n·eps",
        applies=rotary,
    ),
    Entry(
        "total activation by sorted half-planes and prefix sums = Σ_i Σ_j |x_ij^b|",
        "§5",
        (
            "half_plane_identity",
            "folding_keeps_size",
            "fold_keeps_activation",
            "before_trans",
            "angle_le_iff_before",
            "activation_by_sorting",
            "activation_by_prefix_sums",
            "sorted_row_activation",
            "sorted_total_activation",
            "sweep_is_double_sum",
            "fast_activation_is_double_sum",
            "fast_causal_activation_is_double_sum",
            "fast_windowed_activation_is_double_sum",
        ),
        in_bands("activation.total.total_activation"),
        "equality",
        half_planes,
        1e-13,
        "normwise, as for all pairs: a few hundred eps of Σ|q||k| (bounds.py)",
        applies=rotary,
    ),
    Entry(
        "all paths and the sum of the rows give the same total activation",
        "§5",
        (),
        in_bands("activation.total.row_activation"),
        "equality",
        other_paths,
        1e-12,
        "sums of T² numbers; compiled loops may add in any order (bounds.py)",
        applies=rotary,
    ),
    Entry(
        "activation of the dims that do not rotate = Σ_i Σ_j |σ q_rest·k_rest|",
        "§5",
        (),
        in_bands("activation.unrotated.unrotated_activation"),
        "equality",
        unrotated_part,
        1e-12,
        "sums of T² numbers",
        applies=partly_rotary,
    ),
    Entry(
        "the bands' entropy shares sum to H(p) − log N of the model's own attention",
        "§5",
        ("entropy_shares_sum",),
        in_bands("entropy.by_parts.entropy_attribution"),
        "equality",
        entropy_shares,
        1e-6,
        NODES + ", in nats per query",
        applies=rotary,
    ),
    Entry(
        "a vector added to all keys changes no entropy share",
        "§5",
        ("entropy_share_shift_invariant",),
        in_bands("entropy.by_parts.entropy_attribution"),
        "equality",
        shifted_keys,
        4e-6,
        "two quadratures, each complete to 1e-6 nats per query, bands at most twice their sum's error",
        applies=uncapped,
    ),
    Entry(
        "the bands' attributions of a pair sum to its attention",
        "§5",
        ("attribution_over_bands",),
        in_bands("attribution.products.pair_attribution"),
        "equality",
        attribution_over_bands,
        1e-6,
        NODES,
        applies=rotary,
    ),
    Entry(
        "a band's attributions over the keys sum to 1/B, all of them to 1",
        "§5",
        ("attribution_over_keys", "attribution_complete"),
        in_bands("attribution.products.pair_attribution"),
        "equality",
        attribution_over_keys,
        1e-10,
        "any nodes will do: rounding of N·B terms",
        applies=rotary,
    ),
    Entry(
        "the most important band of every head has importance 1",
        "§5",
        (),
        in_bands("importance.importance"),
        "equality",
        largest_is_one,
        1e-15,
        "one division",
        applies=rotary,
    ),
)
