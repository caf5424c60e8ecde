"""Positional kernels of every head of a model: two walks over text, one to estimate, one to query."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from numerics.errors import InvalidArgument
from numerics.positional import denominators, first_layer, groups, kernel, shares, spread, substitution
from numerics.positional.moments import Moments, positional_share
from numerics.positional.split import repeat_heads
from numerics.positional.survival import Survival
from numerics.text import chunks, split

if TYPE_CHECKING:
    import torch

    from numerics.models import Model, RotaryTable
    from numerics.models.heads import Norm
    from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Ints = NDArray[np.int64]

QUERIES = 16
BATCH = 8
SHIFTS = (1, 16, 64)
SHIFTED_TEXTS = 8
GALLERY = 6
GALLERY_QUERIES = 4
DEVIATIONS = (1.0, 1.5, 2.0, 3.0, 5.0)
SUBSTITUTE = " the"
SUBSTITUTED = np.arange(500, 601, 5)


def positional_kernels(
    model: Model,
    text: Sequence[str | os.PathLike[str]] | None = None,
    dataset: str | None = None,
    samples: int = 500,
    length: int = 256,
    skip: int = 5,
    query_texts: int = 20,
    queries: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Positional kernels, effective token counts and softmax denominators of every head.

    `text`: files (default: the shipped sample), or a Hugging Face `dataset`; `samples` chunks of `length` tokens give
    the means, the next `query_texts` chunks the queries; the first `skip` positions are left out of every kernel;
    `queries` are positions (default 16, evenly spaced up to the last). `progress` gets (texts done, texts in all).

    Returns the row `kernels` of the contract; `kernel_kind` is an attr. What it names there and how it is found:
    `denominator(layer, head, query, text)` is Z of every query text; `exceedance(layer, head, deviation)` the share of
    texts and queries with `|Z − E Z|` at least so many predicted standard deviations, beside the bounds `chebyshev` and
    `hoeffding` for independent contents (means over the same rows; contents drawn from those of the text itself).
    `tv_kernel_P(layer, head)` is the TV of the kernel with a mean key per position, where `kernel_kind` is mean-key;
    `kernel_gallery` holds kernels of single texts. `substitution(text, head, substituted)` is Z in the first layer of a
    causal model with learned positions, the token ' the' put at positions 500 to 600, for texts longer than that.
    Raises InvalidArgument for unusable lengths, counts or queries, and what `numerics.text` raises.
    """
    places = _queries(model, length, skip, queries)
    _check_counts(samples, query_texts)
    stream = chunks(model.vocabulary.tokenizer, length=length, files=text, dataset=dataset)
    estimation_texts, querying_texts = split(stream, (samples, query_texts))
    layers = [_Layer(model, layer, places, length, skip) for layer in range(model.n_layers)]
    done, total = 0, samples + query_texts

    def count(texts: int) -> None:
        nonlocal done
        done += texts
        if progress is not None:
            progress(done, total)

    for batch in _batches(estimation_texts, BATCH):
        _run(model, batch, lambda call: layers[call.layer].estimate(call))
        count(len(batch))
    kept: list[Ints] = []
    for ids in querying_texts:
        _run(model, ids[None], lambda call, ids=ids: layers[call.layer].query(call, ids))  # type: ignore[misc]
        kept.append(ids)
        count(1)
    table = _table(model, layers, places, length, skip)
    survival = _content_survival(model, layers, kept[:SHIFTED_TEXTS], length)
    if survival is not None:
        table["content_survival"] = survival
    arguments = f"--samples {samples} --length {length} --skip {skip} --query-texts {query_texts}"
    table.attrs = {
        **model.provenance(f"numerics kernels {model.source} {arguments} --queries {','.join(map(str, places))}"),
        "text": stream.name,
        "text_sha256": stream.text_sha256,
        "compute_dtype": model.compute_dtype,
        "kernel_kind": layers[0].kind,
        "samples": samples,
        "skip": skip,
    }
    first = layers[0]
    if first.content_lengths:  # c² of the first-layer approximation: of the texts, as used, and of the vocabulary
        table.attrs["content_length"] = float(np.mean(first.content_lengths))
        table.attrs["content_length_vocabulary"] = first_layer.content_length(first.token_part)
    return table


# -- one layer, walked -----------------------------------------------------------------------------------------------


@dataclass
class _Layer:
    """What is accumulated of one layer: means over the estimation texts, then rows of the query texts."""

    model: Model
    layer: int
    queries: Ints
    length: int
    skip: int
    seen: int = 0
    moments: Moments = field(init=False)
    kernels: list[NDArray[np.float32]] = field(default_factory=list)
    of_positions: Float | None = None
    etc: list[Float] = field(default_factory=list)
    Z: list[Float] = field(default_factory=list)
    expected_Z: list[Float] = field(default_factory=list)
    hoeffding: list[Float] = field(default_factory=list)
    predicted_variance: list[Float] = field(default_factory=list)
    unrotated: list[Float] = field(default_factory=list)
    first_layer: list[Float] = field(default_factory=list)
    content_lengths: list[float] = field(default_factory=list)
    substituted: list[Float] = field(default_factory=list)

    def __post_init__(self) -> None:
        heads = self.heads = self.model.heads(self.layer)
        self.table: RotaryTable | None = self.model.positions.rotary(self.layer)
        self.kind = "P" if self.table is None else "mean-key"
        self.moments = Moments.empty((self.length, heads.width))
        self.attention = np.zeros((heads.n_heads, len(self.queries), self.length))
        self.key_sum: Float | None = None
        self.key_square: Float | None = None
        self.admissible = kernel.admissible_keys(self.queries, self.length, causal=heads.causal, window=heads.window)
        self.allowed: Bool = self.admissible & (np.arange(self.length) >= self.skip)

    def estimate(self, call: AttentionCall) -> None:
        """Add a batch of texts to the means of input, attention and un-rotated key."""
        self.moments.add(call.x.double().numpy())
        pattern = call.pattern()[:, :, self.queries].double().numpy()
        self.attention += pattern.sum(axis=0)
        keys = call.unrotated()[1].double().numpy()
        rotating = keys[:, :, self.skip :, : self.table.rotary_dim if self.table else None]
        if self.key_sum is None or self.key_square is None:
            self.key_sum, self.key_square = np.zeros(keys.shape[1:]), np.zeros(keys.shape[1])
        self.key_sum += keys.sum(axis=0)
        self.key_square += np.square(rotating).sum(axis=-1).mean(axis=-1).sum(axis=0)
        self.seen += len(keys)

    @property
    def mean_keys(self) -> Float:
        """(G, T, n)."""
        assert self.key_sum is not None
        return self.key_sum / self.seen

    @property
    def mean_key(self) -> Float:
        """(G, n), over positions ≥ skip."""
        return np.asarray(self.mean_keys[:, self.skip :].mean(axis=1))

    def query(self, call: AttentionCall, ids: Ints) -> None:
        """Kernels, content factors and denominators of the queries of one text."""
        q = call.unrotated()[0][0].double().numpy()[:, self.queries]
        scores = call.scores()[0].double().numpy()[:, self.queries]
        exponents, of_positions = self._exponents(q, call)
        rows = kernel.positional_kernel(exponents, self.admissible, self.skip)
        if of_positions is not None:
            plain = kernel.positional_kernel(of_positions, self.admissible, self.skip)
            self.of_positions = plain if self.of_positions is None else self.of_positions + plain
        known = np.where(self.allowed, scores, 0.0)
        factor = kernel.content_factor(known, np.where(self.allowed, exponents, 0.0))
        others = self.allowed & (np.arange(self.length) != self.queries[:, None])
        mean, variance = denominators.content_moments(factor, others)
        self.kernels.append(rows.astype(np.float32))
        self.etc.append(spread.effective_token_count(rows))
        self.Z.append(denominators.denominator(rows, factor))
        self.expected_Z.append(denominators.predicted_mean(rows, factor, mean, self.queries))
        deviation = denominators.predicted_spread(rows, variance, self.queries)
        self.predicted_variance.append(deviation**2)
        self.hoeffding.append(self._hoeffding(rows, factor, others, deviation))
        if self.table is not None and self.table.rotary_dim < self.heads.head_dim:
            self.unrotated.append(self._unrotated_share(q, call, known))
        if self.layer == 0 and self.input_norm is not None:
            self.first_layer.append(self._first_layer(q, ids, call))
            if self.heads.causal and self.length > SUBSTITUTED[-1]:
                self.substituted.append(self._substituted(call))

    def _exponents(self, q: Float, call: AttentionCall) -> tuple[Float, Float | None]:
        """Exponents (H, I, T) of the kernel, and of the P-kernel where that is another one."""
        bias = call.bias
        common: dict[str, Any] = {
            "query_positions": self.queries,
            "scale": self.heads.scale,
            "rotate": None if self.table is None else self.table.rotate,
            "bias": None if bias is None else _expanded(bias, self.heads.n_heads, self.length)[:, self.queries],
            "softcap": self.heads.softcap,
        }
        by_position = kernel.exponents_of_positions(q, self.mean_keys, **common)
        if self.table is None:
            return by_position, None
        return kernel.exponents_of_mean_key(q, self.mean_key, n_keys=self.length, **common), by_position

    def _unrotated_share(self, q: Float, call: AttentionCall, scores: Float) -> Float:
        assert self.table is not None
        rest = slice(self.table.rotary_dim, None)
        keys = repeat_heads(call.k[0].double().numpy(), len(q))[..., rest]
        part = self.heads.scale * q[..., rest] @ np.swapaxes(keys, -1, -2)
        return shares.unrotated_score_share(part, scores, self.allowed)

    def _hoeffding(self, rows: Float, factor: Float, others: Bool, deviation: Float) -> Float:
        """Hoeffding bounds (H, I, K) at the multiples `DEVIATIONS` of the predicted spread; 0 where that is zero."""
        low, high = (
            extreme(np.where(others, factor, fill), axis=-1) for extreme, fill in ((np.min, np.inf), (np.max, -np.inf))
        )
        weight = denominators.concentration_weight(rows, self.queries)
        steps = np.where(deviation > 0, deviation, 1.0)[..., None] * np.array(DEVIATIONS)
        bound = denominators.hoeffding_bound(steps, low[..., None], high[..., None], weight[..., None])
        return np.where(deviation[..., None] > 0, bound, 0.0)

    @cached_property
    def input_norm(self) -> Norm | None:
        """The one norm between the embeddings' sum and this first layer's attention; None without learned positions."""
        if not self.model.positions.learned:
            return None
        norms = [norm for norm in (self.model.vocabulary.embedding_norm, self.heads.norm) if norm is not None]
        return norms[0] if len(norms) == 1 else None

    @cached_property
    def token_part(self) -> Float:
        """(V, D): what a token adds to the first layer's input before the norm."""
        ends = self.model.vocabulary
        return ends.W_E if ends.token_type is None else ends.W_E + ends.token_type

    def _first_layer(self, q: Float, ids: Ints, call: AttentionCall) -> Float:
        """TV (H, I) between the first-layer approximation and the attention, both without the skipped positions."""
        ends, heads = self.model.vocabulary, self.heads
        assert self.input_norm is not None
        assert ends.W_pos is not None
        tokens, positions = self.token_part[ids], ends.W_pos[: len(ids)]
        self.content_lengths.append(first_layer.content_length(tokens))
        bias = 0.0 if call.bias is None else _expanded(call.bias, heads.n_heads, self.length)[:, self.queries]
        to_kv = [heads.kv_head(head) for head in range(heads.n_heads)]
        pattern = call.pattern()[0].double().numpy()[:, self.queries]
        attention, _ = kernel.condition(pattern, self.admissible, self.skip)
        scores = np.empty_like(attention)
        for row, n in enumerate(self.queries):
            parts = first_layer.first_layer_parts(tokens, positions, int(n), self.input_norm)
            inputs = parts.content + parts.position
            scores[:, row] = first_layer.scores_on_inputs(
                q[:, row], inputs, heads.W_K[to_kv], heads.b_K[to_kv], heads.scale
            )
        return spread.total_variation(kernel.positional_kernel(scores + bias, self.admissible, self.skip), attention)

    def _substituted(self, call: AttentionCall) -> Float:
        """Z (H, I) of the text for the token `SUBSTITUTE` at each position of `SUBSTITUTED`."""
        ends, heads = self.model.vocabulary, self.heads
        assert self.input_norm is not None
        assert ends.W_pos is not None
        token = ends.tokenizer(SUBSTITUTE, add_special_tokens=False)["input_ids"][0]
        x = substitution.normed(self.token_part[token] + ends.W_pos[SUBSTITUTED], self.input_norm)
        q = np.einsum("hnd,id->hin", heads.W_Q, x) + heads.b_Q[:, None]
        k = np.einsum("gnd,id->gin", heads.W_K, x) + heads.b_K[:, None]
        own, keys, mean = (
            repeat_heads(part, heads.n_heads) for part in (k, call.k[0].double().numpy(), self.mean_keys)
        )
        return substitution.substituted_denominators(q, own, keys, mean, SUBSTITUTED, scale=heads.scale, skip=self.skip)

    def results(self) -> dict[str, Any]:
        """Everything that is reported of the layer, by variable."""
        rows = np.stack(self.kernels).astype(np.float64)
        mean = rows.mean(axis=0)
        mean /= mean.sum(axis=-1, keepdims=True)  # float32 was kept
        attention, sink = kernel.condition(self.attention / self.seen, self.admissible, self.skip)
        etc, Z, expected_Z = np.stack(self.etc), np.stack(self.Z), np.stack(self.expected_Z)
        deviations = np.sqrt(self.predicted_variance)
        chebyshev = np.broadcast_to(denominators.chebyshev_bound(DEVIATIONS, 1.0, 1.0), np.shape(self.hoeffding))
        variation = groups.pairwise_variation(mean)
        predicted = np.sqrt(np.mean(self.predicted_variance, axis=0))
        last_etc = etc.mean(axis=0)[:, -1]
        criteria = {
            "predicted": denominators.is_contextual(last_etc, predicted[:, -1] / Z.mean(axis=0)[:, -1]),
            "measured": denominators.is_contextual(last_etc, denominators.relative_spread(Z)[:, -1]),
        }
        size = int(self.allowed[-1].sum())
        to_kv = np.arange(self.heads.n_heads) * len(self.mean_key) // self.heads.n_heads
        rotating = self.mean_key[:, : self.table.rotary_dim if self.table else None]
        assert self.key_square is not None
        uniform = spread.uniform_kernel(self.allowed)
        found: dict[str, Any] = {
            "kernel": mean.astype(np.float32),
            "kernel_gallery": np.moveaxis(np.stack(self.kernels[:GALLERY])[:, :, gallery_places(self.queries)], 0, 2),
            "etc": etc.mean(axis=0),
            "etc_texts_sd": etc.std(axis=0, ddof=1),
            "category": [spread.category(float(value), size) for value in last_etc],
            "peak_offset": _commonest(spread.peak_offset(mean, self.queries)),
            "equivariance": spread.translation_equivariance(mean, self.queries, self.allowed),
            "consistency": spread.query_consistency(rows),
            "tv_kernel": spread.total_variation(mean, attention).mean(axis=-1),
            "tv_uniform": spread.total_variation(uniform, attention).mean(axis=-1),
            "sink_mass": sink.mean(axis=-1),
            "group": groups.groups(variation),
            "kernel_variation": variation,
            "contextual": _named(criteria),
            "key_bias_share": shares.key_bias_share(rotating, self.key_square / self.seen)[to_kv],
            "denominator": np.moveaxis(Z, 0, -1),
            "exceedance": denominators.exceedance(Z, expected_Z, deviations, DEVIATIONS),
            "chebyshev": denominators.mean_over_rows(chebyshev, deviations > 0),
            "hoeffding": denominators.mean_over_rows(np.stack(self.hoeffding), deviations > 0),
            "denominator_mean": Z.mean(axis=0),
            "denominator_sd": Z.std(axis=0, ddof=1),
            "denominator_sd_predicted": predicted,
            "denominator_decay": denominators.shared_decay(Z, self.queries)[1],
            "positional_share": positional_share(self.moments, self.skip),
            "standard_error": self.moments.standard_error,
        }
        if self.of_positions is not None:
            plain = self.of_positions / len(self.kernels)
            found["tv_kernel_P"] = spread.total_variation(plain, attention).mean(axis=-1)
        if self.unrotated:
            found["unrotated_share"] = np.mean(self.unrotated, axis=0)
        if self.first_layer:
            found["tv_first_layer"] = np.mean(self.first_layer, axis=0)
        if self.substituted:
            found["substitution"] = np.stack(self.substituted)
        return found


# -- the table -------------------------------------------------------------------------------------------------------

DIMS: dict[str, tuple[str, ...]] = {
    "kernel": ("head", "query", "key"),
    "kernel_gallery": ("head", "gallery_query", "gallery_text", "key"),
    "denominator": ("head", "query", "text"),
    **dict.fromkeys(("exceedance", "chebyshev", "hoeffding"), ("head", "deviation")),
    "kernel_variation": ("head", "other"),
    "positional_share": (),
    "standard_error": ("position",),
    **dict.fromkeys(
        ("etc", "etc_texts_sd", "denominator_mean", "denominator_sd", "denominator_sd_predicted"), ("head", "query")
    ),
}


def _table(model: Model, layers: list[_Layer], queries: Ints, length: int, skip: int) -> xr.Dataset:
    found = [layer.results() for layer in layers]
    table = xr.Dataset(
        coords={
            "layer": np.arange(len(layers)),
            "head": np.arange(model.n_heads),
            "query": queries,
            "key": np.arange(length),
            "position": np.arange(length),
            "deviation": np.array(DEVIATIONS),
            "gallery_query": queries[gallery_places(queries)],
        }
    )
    for name in dict.fromkeys(name for results in found for name in results):
        if name == "tv_first_layer":
            table[name] = (("head", "query"), found[0][name])
        elif name == "substitution":
            table[name] = (("text", "head", "substituted"), found[0][name])
            table = table.assign_coords(substituted=SUBSTITUTED)
        elif all(name in results for results in found):
            values = np.stack([np.asarray(results[name]) for results in found])
            table[name] = (("layer", *DIMS.get(name, ("head",))), values)
    far = np.arange(length) if all(layer.heads.causal for layer in layers) else np.arange(1 - length, length)
    profiles = [
        spread.distance_profile(results["kernel"].astype(np.float64), queries, layer.allowed, far)
        for results, layer in zip(found, layers, strict=True)
    ]
    table["distance_profile"] = (("layer", "head", "distance"), np.stack(profiles))
    table = table.assign_coords(distance=far)
    if model.stacks is not None:
        table = table.assign_coords(stack=("layer", list(model.stacks)))
    return table


def gallery_places(queries: Ints) -> Ints:
    """Which of the queries are kept text by text: `GALLERY_QUERIES` evenly spaced ones up to the last."""
    shown = min(GALLERY_QUERIES, len(queries))
    return np.round(len(queries) * np.arange(1, shown + 1) / shown).astype(np.int64) - 1


def _named(criteria: dict[str, Bool]) -> list[str]:
    """Per head `both`, the one criterion it meets, or ''."""
    names = np.full(len(criteria["predicted"]), "", dtype="<U9")
    for name, meets in criteria.items():
        names[meets] = np.where(names[meets] == "", name, "both")
    return [str(name) for name in names]


def _commonest(offsets: Ints) -> Ints:
    """The offset (H,) that most queries (H, I) have; of equally many the smallest in size."""
    chosen = []
    for row in offsets:
        values, counts = np.unique(row, return_counts=True)
        best = values[counts == counts.max()]
        chosen.append(int(best[np.argmin(np.abs(best))]))
    return np.array(chosen, dtype=np.int64)


def _content_survival(model: Model, layers: list[_Layer], texts: list[Ints], length: int) -> xr.DataArray | None:
    """Per layer and shift; None where the model does not take positions."""
    if not model.takes_positions:
        return None
    shifts = [shift for shift in SHIFTS if 2 * shift <= length]
    kept = length - max(shifts)
    sums = {(layer.layer, shift): Survival() for layer in layers for shift in shifts}
    for ids in texts:
        content: dict[int, Float] = {}

        def keep(call: AttentionCall, content: dict[int, Float] = content) -> None:
            content[call.layer] = call.x[0].double().numpy() - layers[call.layer].moments.mean[:kept]

        _run(model, ids[None, :kept], keep)
        for shift in shifts:

            def compare(call: AttentionCall, shift: int = shift, content: dict[int, Float] = content) -> None:
                mean = layers[call.layer].moments.mean[shift : shift + kept]
                sums[call.layer, shift].add(content[call.layer], call.x[0].double().numpy() - mean)

            _run(model, ids[None, :kept], compare, np.arange(shift, shift + kept))
    values = [[sums[layer.layer, shift].value for shift in shifts] for layer in layers]
    return xr.DataArray(values, dims=("layer", "shift"), coords={"shift": shifts})


# -- running the model -----------------------------------------------------------------------------------------------


def _run(model: Model, ids: Ints, visit: Callable[[AttentionCall], None], positions: Ints | None = None) -> None:
    import torch

    places = None if positions is None else torch.as_tensor(positions)
    with torch.no_grad(), model.attention(visit):
        model.forward(torch.as_tensor(ids), places, logits=False)


def _batches(texts: Iterator[Ints], size: int) -> Iterator[Ints]:
    batch: list[Ints] = []
    for ids in texts:
        batch.append(ids)
        if len(batch) == size:
            yield np.stack(batch)
            batch = []
    if batch:
        yield np.stack(batch)


def _expanded(bias: torch.Tensor, heads: int, length: int) -> Float:
    """A model's score bias (1, H, 1 or T, T) as (H, T, T)."""
    return np.broadcast_to(bias[0].double().numpy(), (heads, length, length))


def _queries(model: Model, length: int, skip: int, queries: Sequence[int] | None) -> Ints:
    limit = model.positions.limit
    if limit is not None and length > limit:
        raise InvalidArgument(f"{model.name} has {limit} positions, {length} are asked for", f"use a length ≤ {limit}")
    if skip < 0 or length < skip + 3:
        raise InvalidArgument(
            f"texts of {length} tokens leave no queries after the first {skip}", "use longer texts, or skip fewer"
        )
    if queries is None:
        spaced = np.unique(np.round(length * np.arange(1, QUERIES + 1) / QUERIES).astype(np.int64) - 1)
        places = spaced[spaced > skip]
    else:
        places = np.array(sorted(set(queries)), dtype=np.int64)
    outside = [int(n) for n in places if not skip < n < length]
    if outside or len(places) < 2:
        raise InvalidArgument(
            f"queries at {outside or places.tolist()} cannot be used with length {length} and skip {skip}",
            f"give two or more positions from {skip + 1} to {length - 1}",
        )
    return places


def _check_counts(samples: int, query_texts: int) -> None:
    if samples < 2 or query_texts < 2:
        raise InvalidArgument(
            f"{samples} samples and {query_texts} query texts give no spread", "ask for two or more of each"
        )
