"""Exact identities on the tiny model of every architecture, against the scores that transformers itself computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from numerics.models import Model
from numerics.models.heads import HeadWeights
from numerics.models.rotary import RotaryTable, turn
from numerics.positional.kernel import (
    admissible_keys,
    condition,
    content_factor,
    exponents_of_mean_key,
    exponents_of_positions,
    positional_kernel,
    softmax_from_factors,
)
from numerics.positional.split import Parts, Rotation, four_terms, split_projection
from tests.models.tiny import TINY
from tests.models.truth import observe
from tests.positional.strategies import EXACT, Float

Load = Callable[[str], Model]
SKIP = 2


def split_layer(weights: HeadWeights, x: Float) -> tuple[Parts, Parts]:
    """Queries and keys of a layer, with a smooth function of the position in place of a mean over texts."""
    P = np.sin(np.arange(x.size).reshape(x.shape) / 7)
    E = x - P
    return (
        split_projection(P, E, weights.W_Q, weights.b_Q, weights.q_norm),
        split_projection(P, E, weights.W_K, weights.b_K, weights.k_norm),
    )


def own_rotation(table: RotaryTable, rotation: tuple[Float, Float] | None) -> Rotation:
    """The rotation by the model's own cos and sin (T, B), whose frequencies are rounded to float32."""
    if rotation is None:
        return table.rotate
    cos, sin = rotation
    return lambda x, positions: turn(table, x, cos[positions], sin[positions])


@pytest.mark.parametrize("case", sorted(TINY))
def test_parts_sum_to_the_scores_and_kernel_times_content_is_the_pattern(
    case: str, tiny: Load, ids: torch.Tensor
) -> None:
    model = tiny(case)
    truth = observe(model, ids, float64=True)
    positions = np.arange(ids.shape[1])
    queries = positions[SKIP:]
    for layer in range(model.n_layers):
        weights, table, bias = model.heads(layer), model.positions.rotary(layer), model.positions.bias(layer)
        rotate = None if table is None else own_rotation(table, truth.rotation.get(layer))
        offsets = None if bias is None else bias.matrix(queries, positions)
        admissible = admissible_keys(queries, len(positions), causal=weights.causal, window=weights.window)
        theirs = truth.scores[layer][:, SKIP:]
        assert np.array_equal(np.broadcast_to(admissible, theirs.shape), theirs > np.finfo(np.float32).min / 2)

        query, key = split_layer(weights, truth.x[layer])
        query = Parts(*(part[..., SKIP:, :] for part in query))
        terms = four_terms(
            query,
            key,
            query_positions=queries,
            key_positions=positions,
            scale=weights.scale,
            rotate=rotate,
            bias=offsets,
        )
        scores = terms.score(weights.softcap)
        # ALiBi is added as slope·j by the models: rows differ from ours by a constant, which no softmax sees.
        gap = np.where(admissible, scores - theirs, 0.0)
        gap -= np.where(admissible, gap.sum(axis=-1, keepdims=True) / admissible.sum(axis=-1, keepdims=True), 0.0)
        assert np.abs(gap).max() < EXACT
        if bias is None:
            assert np.abs(np.where(admissible, scores - theirs, 0.0)).max() < EXACT

        pattern, _ = condition(truth.pattern[layer][:, SKIP:], admissible, SKIP)
        shared = {
            "query_positions": queries,
            "scale": weights.scale,
            "rotate": rotate,
            "bias": offsets,
            "softcap": weights.softcap,
        }
        mean_key = key.whole[..., SKIP:, :].mean(axis=-2)
        for exponents in (
            exponents_of_positions(query.whole, key.position, **shared),  # type: ignore[arg-type]
            exponents_of_mean_key(query.whole, mean_key, n_keys=len(positions), **shared),  # type: ignore[arg-type]
        ):
            kernel = positional_kernel(exponents, admissible, SKIP)
            rebuilt = softmax_from_factors(kernel, content_factor(scores, exponents))
            assert np.abs(rebuilt - pattern).max() < EXACT
            assert np.abs(kernel - pattern).max() > 1e-3, "the content does nothing: the identity says nothing"
