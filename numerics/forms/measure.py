"""Profiles of every head of a model, from its weights alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from numerics import results
from numerics.errors import InvalidArgument, NonFiniteWeight
from numerics.forms.baseline import random_antisymmetric_share, random_factor, random_profile, random_weights
from numerics.forms.coordinates import HeadType
from numerics.forms.description import Description, describe
from numerics.forms.folding import centring_mean, fold_input_norm, fold_output_norm
from numerics.forms.reduction import Reduction, reduce_pair, scaled
from numerics.models.heads import HeadWeights, Norm, QKNorm

if TYPE_CHECKING:
    from numerics.models import Model

Float = NDArray[np.float64]
Form = Literal["raw", "folded"]
Rotate = Callable[[Float], Float]

NUMBERS = ("symmetric_energy", "pairing", "balance", "participation_ratio", "stable_rank", "trace_ratio")
COUNTS = ("n_positive", "n_negative")

BASELINE_DRAWS = 16
BASELINE_SEED = 2609


def profile(
    model: Model,
    form: Form = "raw",
    distances: Sequence[int] = (0,),
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Profile and extras of every head of `model` at every distance δ = query − key.

    `form`: `raw` is `W_Kᵀ R_δ W_Q`; `folded` has the norm before attention folded in (a layer without one: as raw). The
    gains of a QK-norm are in both. `distances`: whole numbers ≥ 0, all 0 on a model without rotary positions; a layer
    without rotation has the same form at all of them. `progress` is called with (layers done, layers in all).

    Returns `profile(layer, head, distance, coordinate)`; `symmetric_energy`, `pairing`, `balance`,
    `participation_ratio`, `stable_rank`, `trace_ratio`, `n_positive`, `n_negative`, `type` (layer, head, distance);
    `baseline(coordinate)`: for random heads of the model's own shapes and gains, mean over layers; and for pictures
    `symmetric_spectrum(layer, head, eigenvalue)`, float32: eigenvalues of S/‖L‖ at the first distance, largest first.
    Heads that a layer lacks are NaN, of type ''. Attrs: provenance, `form`, `qk_norm`, `zero_heads` (how many have
    L = 0), and `form_note`, `qk_norm_note` where there is something to add.

    Raises InvalidArgument for an unusable form or distance, NonFiniteWeight for NaN or infinity in a weight or gain.
    """
    deltas = _checked(model, form, distances)
    layers = model.n_layers
    table = _empty_table(layers, model.n_heads, deltas, min(2 * model.head_dim, model.width))
    baseline = np.empty((layers, len(results.COORDINATES)))
    without_norm: list[int] = []
    qk_norms: list[QKNorm] = []

    # LAPACK on one thread each, heads side by side: on small matrices BLAS threads only wait for each other.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(_cores()) as pool:
        for layer in range(layers):
            heads = model.heads(layer)
            _check_gains(heads)
            _ = heads.W_Q, heads.W_K  # read here, once, not by several threads at a time
            if heads.norm is None:
                without_norm.append(layer)
            qk_norms += [norm for norm in (heads.q_norm, heads.k_norm) if norm is not None]
            rotations = _rotations(model, layer, deltas)
            drawn = pool.submit(_layer_baseline, heads, form, rotations[0], layer, -(-BASELINE_DRAWS // layers))
            described = pool.map(partial(_describe_head, heads, form, rotations), range(heads.n_heads))
            for head, by_distance in enumerate(described):
                _fill(table, layer, head, by_distance)
            baseline[layer] = drawn.result()
            del heads, described, drawn  # the next layer is read when nothing holds this one's weights any more
            if progress is not None:
                progress(layer + 1, layers)

    table["baseline"] = ("coordinate", baseline.mean(axis=0))
    if model.stacks is not None:
        table = table.assign_coords(stack=("layer", list(model.stacks)))
    listed = ",".join(map(str, deltas))
    table.attrs = {
        **model.provenance(f"numerics profile {model.source} --form {form} --distances {listed}"),
        "width": str(model.width),
        "head_dim": str(model.head_dim),
        "form": form,
        "qk_norm": "gain-folded" if qk_norms else "none",
        "zero_heads": int((table["type"] == "zero").any("distance").sum()),
    }
    if any(norm.bias is not None for norm in qk_norms):
        table.attrs["qk_norm_note"] = "linear part: the QK-norm has a bias, which is no part of the form"
    if form == "folded" and without_norm:
        which = "" if len(without_norm) == layers else f" in layers {', '.join(map(str, without_norm))}"
        table.attrs["form_note"] = f"no norm before attention{which}: folded = raw"
    return table


def _cores() -> int:
    """Cores this process may use (macOS and Windows only tell how many there are)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked(model: Model, form: str, distances: Sequence[int]) -> tuple[int, ...]:
    """The distances as ints, or InvalidArgument."""
    if form not in get_args(Form):
        raise InvalidArgument(f"form is {form!r}", "use 'raw' or 'folded'")
    if not distances:
        raise InvalidArgument("no distance is given", "give at least one, e.g. distances=(0,)")
    # Refused below zero: every known rotary model is causal, its keys never come after the query.
    unusable = [δ for δ in distances if δ != int(δ) or δ < 0]
    if unusable:
        raise InvalidArgument(f"distance {unusable[0]}: query − key is a whole number ≥ 0", "leave it out")
    deltas = tuple(int(δ) for δ in distances)
    if len(set(deltas)) < len(deltas):
        raise InvalidArgument(f"distances {deltas} name one twice", "give each distance once")
    if any(deltas) and all(model.positions.rotary(layer) is None for layer in range(model.n_layers)):
        raise InvalidArgument(
            f"{model.name} has no rotary positions ({model.positions.scheme}): its forms do not depend on distance",
            "leave distances at 0",
        )
    return deltas


def _check_gains(heads: HeadWeights) -> None:
    norms: dict[str, Norm | QKNorm | None] = {
        "norm before attention": heads.norm,
        "query norm": heads.q_norm,
        "key norm": heads.k_norm,
    }
    for name, norm in norms.items():
        if norm is not None and not np.isfinite(norm.gain).all():
            raise NonFiniteWeight(
                f"{heads.model}: the gain of the {name} of layer {heads.layer} holds NaN or infinity",
                "the checkpoint is damaged or overflowed when it was converted: get it again, in its original dtype",
            )


def _rotations(model: Model, layer: int, deltas: tuple[int, ...]) -> list[Rotate | None]:
    """R_δ of the layer per distance; a single None where the layer does not rotate: one form for all distances."""
    rotary = model.positions.rotary(layer)
    if rotary is None:
        return [None]
    # `relative` also scales the rotary dims where YaRN or LongRoPE do: with partial rotary no mere factor of the form.
    return [partial(rotary.relative, distance=δ) for δ in deltas]


def _describe_head(heads: HeadWeights, form: Form, rotations: list[Rotate | None], head: int) -> list[Description]:
    """One description per rotation; the reduction is made once."""
    group = heads.kv_head(head)
    reduction = reduce_pair(
        _folded(heads.W_K, group, heads.k_norm, heads.norm, form),
        _folded(heads.W_Q, head, heads.q_norm, heads.norm, form),
    )
    return _describe(reduction, rotations)


def _describe(reduction: Reduction, rotations: list[Rotate | None]) -> list[Description]:
    return [describe(reduction.form(rotate), reduction.noise) for rotate in rotations]


def _folded(weights: Float, index: int, qk_norm: QKNorm | None, norm: Norm | None, form: Form) -> Float:
    """Matrix (n, D) of head `index` of `weights` (heads, n, D) with its norms folded in."""
    W: Float = weights[index]
    if qk_norm is not None:
        centring_rows = W if qk_norm.scope == "head" else weights
        mean = centring_mean(centring_rows) if qk_norm.kind == "layernorm" else None
        W = fold_output_norm(W, qk_norm.gain[index], mean)
    if form == "folded" and norm is not None:
        W = fold_input_norm(W, norm.gain, centred=norm.kind == "layernorm")
    return W


def _layer_baseline(heads: HeadWeights, form: Form, rotate: Rotate | None, layer: int, draws: int) -> Float:
    """Random profile (4,) of the layer's shape and gains at the first distance, averaged over `draws` heads."""
    rng = np.random.default_rng([BASELINE_SEED, layer])
    norm = heads.norm if form == "folded" else None
    centred = norm is not None and norm.kind == "layernorm"
    simulated = []
    for draw in range(draws):
        if norm is None:
            key, query = random_factor(rng, heads.head_dim, heads.width)
        else:
            key, query = random_weights(rng, heads.head_dim, norm.gain, centred)
        head = draw % heads.n_heads
        key = _random_under_qk_norm(key, heads.kv_head(head), heads.k_norm)
        query = _random_under_qk_norm(query, head, heads.q_norm)
        reduction = scaled(key, query, heads.width) if norm is None else reduce_pair(key, query)
        simulated.append(_describe(reduction, [rotate])[0].profile)
    share = random_antisymmetric_share(heads.width, None if norm is None else norm.gain, centred)
    return random_profile(share, np.stack(simulated))


def _random_under_qk_norm(W: Float, index: int, norm: QKNorm | None) -> Float:
    """A random `W` (n, r) with the gain and centring of head `index`; acts on rows, so a factor will do as well."""
    if norm is None:
        return W
    # Over all heads at once the mean of the random rows is nearly zero, and drawing the other heads buys nothing.
    centred = norm.kind == "layernorm" and norm.scope == "head"
    return fold_output_norm(W, norm.gain[index], centring_mean(W) if centred else None)


def _empty_table(layers: int, heads: int, deltas: tuple[int, ...], rank: int) -> xr.Dataset:
    rows = ("layer", "head", "distance")
    shape = (layers, heads, len(deltas))
    table = xr.Dataset(
        {
            "profile": ((*rows, "coordinate"), np.full((*shape, 4), np.nan)),
            **{name: (rows, np.full(shape, np.nan)) for name in (*NUMBERS, *COUNTS)},
            "type": (rows, np.full(shape, "", dtype=f"<U{max(map(len, get_args(HeadType)))}")),
            "symmetric_spectrum": (("layer", "head", "eigenvalue"), np.full((layers, heads, rank), np.nan, np.float32)),
        },
        coords={
            "layer": np.arange(layers),
            "head": np.arange(heads),
            "distance": list(deltas),
            "coordinate": list(results.COORDINATES),
        },
    )
    for name in COUNTS:
        table[name].attrs["units"] = results.COUNT
    table["distance"].attrs["long_name"] = "query position − key position"
    table["symmetric_spectrum"].attrs["long_name"] = f"eigenvalues of S/‖L‖ at distance {deltas[0]}, largest first"
    return table


def _fill(table: xr.Dataset, layer: int, head: int, by_distance: list[Description]) -> None:
    """Write a head's descriptions; a single one holds for every distance."""
    for index in range(table.sizes["distance"]):
        numbers = by_distance[min(index, len(by_distance) - 1)]
        at = (layer, head, index)
        table["profile"].values[at] = numbers.profile
        for name in (*NUMBERS, *COUNTS, "type"):
            table[name].values[at] = getattr(numbers, name)
    table["symmetric_spectrum"].values[layer, head] = by_distance[0].spectrum
