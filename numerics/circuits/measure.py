"""Circuits of every head of a model: one walk over repeated random texts, one over the weights, one over a text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from numerics.circuits import composition, copying, losses, tables, virtual
from numerics.circuits.baseline import composition_baseline
from numerics.circuits.behaviours import ATTENDED, Repetition, attended
from numerics.circuits.chosen import Head, chosen_heads, head_name
from numerics.circuits.ends import Ends, blocks
from numerics.circuits.factors import Factors
from numerics.circuits.folded import factors_of, random_like
from numerics.circuits.tokens import most_frequent, ordinary_ids, repeated_tokens
from numerics.errors import InvalidArgument
from numerics.models.heads import HeadWeights
from numerics.text import chunks
from numerics.text.chunking import start_tokens

if TYPE_CHECKING:
    from numerics.models import Model
    from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Ints = NDArray[np.int64]
Form = Literal["raw", "folded"]

KINDS = (*ATTENDED, "direct_copying")
DRAWN = 512
"""Tokens per seed whose own logit is looked at."""
FREQUENT = 16384
"""Tokens of the tables of pairs."""
BASELINE_PAIRS = 64
SEED = 2209


def head_circuits(
    model: Model,
    period: int = 64,
    copies: int = 2,
    seeds: int = 4,
    pairs: str | Sequence[Head] | None = None,
    text: Sequence[str | os.PathLike[str]] | None = None,
    dataset: str | None = None,
    whole_vocabulary: bool = False,
    form: Form = "folded",
    texts: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Behaviours, copying and composition of every head; token pairs and virtual heads of chosen ones.

    Behaviours are measured on `seeds` texts of `copies` copies of `period` random tokens each. `pairs`: heads such as
    `"5.1,11.2"` or `[(5, 1), (11, 2)]`, whose tables of token pairs and whose virtual heads are wanted. `text`: files
    (default: the shipped sample), or a Hugging Face `dataset`: its most frequent tokens make up the tables of pairs,
    and `texts` chunks of it give the in-context-learning score (0: none). `whole_vocabulary`: all ordinary tokens for
    the tables of pairs and for direct copying (exact, slow). `form`: `folded` has the norms before attention and before
    the logits in the weights, `raw` has not; the gains of a QK-norm and of a norm after the attention are in both.
    `progress` gets (steps done, steps in all).

    Returns the row `circuits` of the contract, composition along `composition_kind` (Q, K, V); `qk_singular_values`,
    `ov_singular_values (layer, head, singular)`; `loss(copy)`, `loss_sd`, without the first token of each copy;
    `in_context_learning`, `in_context_learning_smoothed` and their `…_se`; for chosen heads `pair_value, pair_left,
    pair_right (chosen, circuit, rank)`, `trigram_source, trigram_destination, trigram_output, trigram_qk, trigram_ov
    (chosen, trigram)`, ids with their tokens as `…_token`; for every two of them in different layers
    `virtual_behaviour(virtual, kind)`, `virtual_behaviour_sd`, `virtual_copying(virtual)`.
    What a model cannot show is NaN or left out, and an attr `…_note` says why.

    Raises InvalidArgument for unusable arguments, NonFiniteWeight, and what `numerics.text` raises.
    """
    if form not in get_args(Form):
        raise InvalidArgument(f"form is {form!r}", "use 'raw' or 'folded'")
    if seeds < 1 or texts < 0:
        raise InvalidArgument(f"{seeds} seeds and {texts} texts are asked for", "use 1 seed or more, 0 texts or more")
    chosen = chosen_heads(pairs, model.n_layers, model.n_heads)
    walk = _Walk(model, period, copies, seeds, chosen)
    done, total = 0, seeds + model.n_layers + len(chosen) + texts

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    for seed in range(seeds):
        walk.run(seed)
        step()
    table, notes = walk.table(), walk.notes()
    samples = [walk.pool] if whole_vocabulary else walk.drawn
    weights = _Weights(model, Ends(model.vocabulary, form == "folded"), samples, chosen)
    for layer in range(model.n_layers):
        weights.add(layer)
        step()
    weights.fill(table, walk.virtual)
    notes |= weights.notes()
    learnt, learnt_attrs = _in_context_learning(model, text, dataset, texts, step)
    listed, listed_attrs = _chosen_tables(weights, walk.pool, text, dataset, whole_vocabulary, step)
    table.update({**learnt, **listed})
    if model.stacks is not None:
        table = table.assign_coords(stack=("layer", list(model.stacks)))
    arguments = f"--period {period} --copies {copies} --seeds {seeds} --form {form} --texts {texts}"
    arguments += f" --pairs {','.join(map(head_name, chosen))}" if chosen else ""
    arguments += " --whole-vocabulary" if whole_vocabulary else ""
    table.attrs = {
        **model.provenance(f"numerics circuits {model.source} {arguments}"),
        "form": form,
        "compute_dtype": model.compute_dtype,
        "period": period,
        "copies": copies,
        "seeds": seeds,
        "start_tokens": len(walk.start),
        **notes,
        **learnt_attrs,
        **listed_attrs,
    }
    return table


# -- behaviours --------------------------------------------------------------------------------------------------------


@dataclass
class _Walk:
    """Repeated random texts run through the model, and what every head attends to on them."""

    model: Model
    period: int
    copies: int
    seeds: int
    chosen: tuple[Head, ...]
    behaviours: list[Float] = field(default_factory=list)
    of_virtual: list[Float] = field(default_factory=list)
    copy_losses: list[Float] = field(default_factory=list)

    def __post_init__(self) -> None:
        ends = self.model.vocabulary
        self.start = start_tokens(ends.tokenizer)
        self.pool = ordinary_ids(min(len(ends.W_E), len(ends.tokenizer)), ends.special_ids)
        self.repetition = Repetition(len(self.start), self.period, self.copies)
        self.ids, self.drawn = [], []
        for seed in range(self.seeds):
            rng = np.random.default_rng([SEED, seed])
            repeated = repeated_tokens(rng, self.pool, period=self.period, copies=self.copies, start=self.start)
            self.ids.append(repeated)
            self.drawn.append(rng.choice(self.pool, min(DRAWN, len(self.pool)), replace=False))
        self.layers = [self.model.heads(layer) for layer in range(self.model.n_layers)]
        self._check_reach()
        self.virtual = [(a, b) for a in self.chosen for b in self.chosen if _may_compose(self.model, a[0], b[0])]

    def _check_reach(self) -> None:
        """InvalidArgument where the model has too few positions, or no layer sees the earlier copy."""
        name, limit = self.model.name, self.model.positions.limit
        if limit is not None and self.repetition.length > limit:
            raise InvalidArgument(
                f"{name} has {limit} positions, {self.copies} copies of {self.period} tokens need more",
                f"use a period ≤ {(limit - len(self.start)) // self.copies}",
            )
        widest = max((heads.window or np.inf) for heads in self.layers)
        if self.period >= widest:
            raise InvalidArgument(
                f"no layer of {name} sees {self.period} tokens back: its widest window is {widest}",
                f"use a period ≤ {widest - 1}",
            )

    @property
    def has_losses(self) -> bool:
        return _predicts(self.model)

    def run(self, seed: int) -> None:
        """One text: behaviours (L, H, 4) of all heads, (pairs, 4) of virtual ones, the loss of each copy."""
        ids = self.ids[seed]
        scores = np.empty((self.model.n_layers, self.model.n_heads, len(ATTENDED)))
        kept: dict[Head, tuple[Float, Bool]] = {}

        def visit(call: AttentionCall) -> None:
            pattern = call.pattern()[0].double().numpy()
            if not np.isfinite(pattern).all():
                raise InvalidArgument(
                    f"{self.model.name}: the attention of layer {call.layer} holds NaN", "run the model in float32"
                )
            seen = _seen(call)
            scores[call.layer] = attended(pattern, seen, self.repetition)
            kept.update({head: (pattern[head[1]], seen) for head in self.chosen if head[0] == call.layer})

        logits = _run(self.model, ids, visit, logits=self.has_losses)
        self.behaviours.append(scores)
        of_virtual = np.empty((len(self.virtual), len(ATTENDED)))
        for place, (earlier, later) in enumerate(self.virtual):
            (first, first_seen), (second, second_seen) = kept[earlier], kept[later]
            seen = virtual.virtual_seen(second_seen, first_seen)
            of_virtual[place] = attended(virtual.virtual_pattern(second, first), seen, self.repetition)
        self.of_virtual.append(of_virtual)
        if self.has_losses:
            self.copy_losses.append(losses.copy_losses(losses.token_losses(logits, ids), self.repetition))

    def table(self) -> xr.Dataset:
        """Means and deviations over the seeds; direct copying, read off the weights, is still NaN."""
        model = self.model
        table = xr.Dataset(
            coords={"layer": np.arange(model.n_layers), "head": np.arange(model.n_heads), "kind": list(KINDS)}
        )
        _add_spread(table, "behaviour", ("layer", "head", "kind"), _with_direct(self.behaviours))
        if self.virtual:
            table = table.assign_coords(virtual=[f"{head_name(a)}→{head_name(b)}" for a, b in self.virtual])
            _add_spread(table, "virtual_behaviour", ("virtual", "kind"), _with_direct(self.of_virtual))
        if self.copy_losses:
            table = table.assign_coords(copy=np.arange(self.copies))
            _add_spread(table, "loss", ("copy",), np.stack(self.copy_losses))
        return table

    def notes(self) -> dict[str, str]:
        """What a reader has to know of these behaviours."""
        notes: dict[str, str] = {}
        short = [heads for heads in self.layers if heads.window is not None and heads.window <= self.period]
        if short:
            window = min(heads.window for heads in short if heads.window is not None)
            notes["period_note"] = (
                f"period {self.period} reaches beyond the window of layers {_listed(short)}: what they cannot see of "
                f"the earlier copy is NaN; a period ≤ {window - 1} shows it"
            )
        if not all(heads.causal for heads in self.layers):
            notes["behaviour_note"] = (
                "bidirectional layers: attention to the same keys before the query; induction there foretells nothing"
            )
        if not self.has_losses:
            notes["loss_note"] = "no loss: the model predicts no next token from the ones before it alone"
        return notes


def _predicts(model: Model) -> bool:
    """Not an encoder, and not a T5, whose decoder sees the whole text through its encoder."""
    return model.vocabulary.W_U is not None and model.stacks is None


def _may_compose(model: Model, earlier: int, later: int) -> bool:
    """Whether `later` reads what `earlier` writes: T5's encoder and decoder have residual streams of their own."""
    return earlier < later and (model.stacks is None or model.stacks[earlier] == model.stacks[later])


def _reaches_logits(model: Model, layer: int) -> bool:
    """Whether the unembedding reads the layer's residual stream."""
    return model.vocabulary.W_U is not None and (model.stacks is None or model.stacks[layer] == "decoder")


def _seen(call: AttentionCall) -> Bool:
    """Keys that a query may attend to (T, T); the same for all heads."""
    length = call.q.shape[-2]
    if call.mask is None:
        return np.ones((length, length), dtype=np.bool_)
    return np.asarray(call.mask[0].expand(-1, length, length)[0].numpy(), dtype=np.bool_)


def _run(model: Model, ids: Ints, visit: Callable[[AttentionCall], None] | None, *, logits: bool | Ints) -> Float:
    """One text (T,) through the model: logits (T, V), of all tokens or at some places, or hidden states (T, D)."""
    import torch

    batch = torch.as_tensor(ids)[None]
    with torch.no_grad(), nullcontext() if visit is None else model.attention(visit):
        result = model.forward(batch, logits=logits if isinstance(logits, bool) else torch.as_tensor(logits))[0]
    numbers: Float = (result.float() if result.element_size() < 4 else result).numpy()
    return numbers


def _with_direct(attention: list[Float]) -> Float:
    """Behaviours (seed, …, 4) with room for direct copying (seed, …, 5)."""
    values = np.stack(attention)
    return np.concatenate([values, np.full((*values.shape[:-1], 1), np.nan)], axis=-1)


def _add_spread(table: xr.Dataset, name: str, dims: tuple[str, ...], by_seed: Float) -> None:
    """`name` and `name_sd`: mean and standard deviation over the first axis."""
    table[name] = (dims, by_seed.mean(axis=0))
    table[f"{name}_sd"] = (dims, _deviation(by_seed))


def _deviation(values: Float) -> Float:
    """Standard deviation over the first axis with N − 1; NaN for a single value."""
    return np.asarray(values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1:], np.nan))


# -- weights -----------------------------------------------------------------------------------------------------------


@dataclass
class _Weights:
    """What the weights alone say, one layer at a time: composition, copying, singular values."""

    model: Model
    ends: Ends
    samples: list[Ints]
    chosen: tuple[Head, ...]
    kept: dict[Head, Factors] = field(default_factory=dict)
    writes: list[Float] = field(default_factory=list)

    def __post_init__(self) -> None:
        L, H = self.model.n_layers, self.model.n_heads
        n = min(self.model.head_dim, self.model.width)
        self.layers = [self.model.heads(layer) for layer in range(L)]  # read anew and dropped: only norms and sizes
        self.composition = np.full((len(composition.KINDS), L, H, L, H), np.nan)
        self.copying = np.full((L, H), np.nan)
        self.direct = np.full((len(self.samples), L, H), np.nan)
        self.qk_singular, self.ov_singular = np.full((2, L, H, n), np.nan, dtype=np.float32)

    def add(self, layer: int) -> None:
        heads = self.model.heads(layer)
        rotary = self.model.positions.rotary(layer)
        factors = [factors_of(heads, head, rotary, self.ends.folded) for head in range(heads.n_heads)]
        self.kept |= {(layer, head): own for head, own in enumerate(factors) if (layer, head) in self.chosen}
        with _one_thread():
            sides = [composition.sides(own) for own in factors]
            for head, own in enumerate(factors):
                n = self.qk_singular.shape[-1]
                self.qk_singular[layer, head] = own.qk_singular_values[:n]
                self.ov_singular[layer, head] = own.ov_singular_values[:n]
        reads = np.stack([side.read for side in sides], axis=1)
        for earlier in range(layer):
            if _may_compose(self.model, earlier, layer):
                scores = composition.composition(reads, self.writes[earlier])
                self.composition[:, layer, :, earlier] = scores
        self.writes.append(np.stack([side.write for side in sides]))
        if _reaches_logits(self.model, layer):
            self.copying[layer] = [self._score(own.value, own.output) for own in factors]
            for place, ids in enumerate(self.samples):
                self.direct[place, layer] = self._direct(heads, factors, ids)

    def fill(self, table: xr.Dataset, pairs: list[tuple[Head, Head]]) -> None:
        """Put everything into the table, that of the virtual heads of `pairs` too."""
        dims = ("composition_kind", "later_layer", "later_head", "layer", "head")
        table.coords["composition_kind"] = list(composition.KINDS)
        table["composition"] = xr.DataArray(self.composition, dims=dims).transpose(*dims[1:], dims[0])
        mean, deviation = self._baseline()
        table["composition_baseline"] = ("composition_kind", mean)
        table["composition_baseline_sd"] = ("composition_kind", deviation)
        table["qk_singular_values"] = (("layer", "head", "singular"), self.qk_singular)
        table["ov_singular_values"] = (("layer", "head", "singular"), self.ov_singular)
        if self.ends.has_logits:
            table["copying"] = (("layer", "head"), self.copying)
            _fill_direct(table, "behaviour", self.direct)
            if pairs:
                found = [self._virtual(earlier, later) for earlier, later in pairs]
                table["virtual_copying"] = ("virtual", np.array([score for score, _ in found]))
                _fill_direct(table, "virtual_behaviour", np.stack([shares for _, shares in found], axis=1))

    def notes(self) -> dict[str, str]:
        """What the form of this model's weights leaves out or cannot show."""
        layers, ends, stacks = self.layers, self.ends, self.model.stacks
        qk_norms = [norm for heads in layers for norm in (heads.q_norm, heads.k_norm) if norm is not None]
        notes = {"qk_norm": "gain-folded" if qk_norms else "none"}
        without = [heads for heads in layers if heads.norm is None]
        if ends.folded and without:
            notes["form_note"] = f"no norm before attention in layers {_listed(without)}: folded = raw there"
        if ends.has_logits:
            there = self.model.vocabulary.final_norm is not None
            notes["direct_copying_tokens"] = str(sum(map(len, self.samples)))
            notes["final_norm"] = ("gain in W_U" if ends.folded else "left out") if there else "none"
        if any(norm.bias is not None for norm in qk_norms):
            notes["qk_norm_note"] = "linear part: the QK-norm has a bias, which is no part of the form"
        if any(heads.post_norm is not None for heads in layers):
            notes["post_norm_note"] = "linear part: the gain of the norm after the attention is in OV"
        if not ends.has_logits:
            notes["copying_note"] = "no copying and no OV pairs: the model has no unembedding"
        elif stacks is not None:
            notes["copying_note"] = "copying of the decoder alone: no unembedding reads the encoder"
        return notes

    def _score(self, value: Float, output: Float) -> float:
        product = copying.copying_product(value, output, self.ends.cross)
        with _one_thread():
            return copying.copying_score(copying.copying_eigenvalues(product))

    def _direct(self, heads: HeadWeights, factors: list[Factors], ids: Ints) -> Float:
        """Share of `ids` (heads,) whose own logit each head raises above the vocabulary mean."""
        raised = np.zeros(len(factors))
        for rows in blocks(ids):
            x, unembedding = self.ends.read(rows, heads.norm), self.ends.unembedding(rows)
            values: list[Float] = []
            for head, own in enumerate(factors):
                shared = head > 0 and heads.kv_head(head) == heads.kv_head(head - 1)
                values.append(values[-1] if shared else x @ own.value.T)
                raised[head] += np.count_nonzero(copying.own_logit_lift(values[-1], unembedding, own.output) > 0)
        return raised / len(ids)

    def _virtual(self, earlier: Head, later: Head) -> tuple[float, Float]:
        """Copying score and, per sample of tokens, direct copying of a virtual head."""
        if not _reaches_logits(self.model, later[0]):
            return float("nan"), np.full(len(self.samples), np.nan)
        first, second = self.kept[earlier], self.kept[later]
        own = virtual.virtual_output(first, second)
        heads = self.layers[earlier[0]]
        shares = [float(self._direct(heads, [own], ids)[0]) for ids in self.samples]
        return self._score(own.value, own.output), np.array(shares)

    def _baseline(self) -> tuple[Float, Float]:
        """Scores of random heads with the norms of heads that may compose; NaN where none may."""
        L = self.model.n_layers
        may = [(a, b) for b in range(L) for a in range(b) if _may_compose(self.model, a, b)]
        if not may:
            return np.full(3, np.nan), np.full(3, np.nan)
        rng = np.random.default_rng(SEED)

        def random_head(layer: int) -> Factors:
            return random_like(rng, self.layers[layer], self.model.positions.rotary(layer), self.ends.folded)

        drawn = (may[int(rng.integers(len(may)))] for _ in range(BASELINE_PAIRS))
        with _one_thread():
            return composition_baseline((random_head(later), random_head(earlier)) for earlier, later in drawn)


def _one_thread() -> threadpool_limits:
    """LAPACK on one thread: on matrices of a head's size BLAS threads only wait for each other."""
    return threadpool_limits(1, user_api="blas")


def _fill_direct(table: xr.Dataset, name: str, shares: Float) -> None:
    """Shares (sample, …) as the kind direct_copying; of the whole vocabulary there is one sample, and no spread."""
    kind = KINDS.index("direct_copying")
    table[name][..., kind] = shares.mean(axis=0)
    table[f"{name}_sd"][..., kind] = _deviation(shares)


def _listed(layers: Sequence[HeadWeights]) -> str:
    return ", ".join(str(heads.layer) for heads in layers)


# -- text --------------------------------------------------------------------------------------------------------------


def _in_context_learning(
    model: Model,
    text: Sequence[str | os.PathLike[str]] | None,
    dataset: str | None,
    texts: int,
    step: Callable[[], None],
) -> tuple[dict[str, Any], dict[str, str]]:
    """`in_context_learning` and its smoothed version with standard errors over the texts, and attrs."""
    limit, length = model.positions.limit, losses.LATE + losses.AROUND + 2
    if texts == 0:
        return {}, {}
    if not _predicts(model):
        return {}, {"in_context_learning_note": "left out: no next token is predicted"}
    if limit is not None and limit < length:
        reason = f"the model has {limit} positions, {length} are needed"
        return {}, {"in_context_learning_note": f"left out: {reason}"}
    stream = chunks(model.vocabulary.tokenizer, length=length, files=text, dataset=dataset)
    scores: list[tuple[float, float]] = []
    try:
        for ids in islice(stream, texts):
            of_text = losses.needed_losses(_run(model, ids, None, logits=losses.NEEDED - 1), ids)
            scores.append((losses.in_context_learning(of_text), losses.smoothed_in_context_learning(of_text)))
            step()
    except InvalidArgument as error:
        if stream.delivered:
            raise
        return {}, {"in_context_learning_note": f"left out: {error.cause}"}
    mean, errors = np.mean(scores, axis=0), _deviation(np.array(scores)) / np.sqrt(len(scores))
    found: dict[str, Any] = {}
    for place, name in enumerate(("in_context_learning", "in_context_learning_smoothed")):
        found |= {name: ((), mean[place]), f"{name}_se": ((), errors[place])}
    return found, {"text": stream.name, "text_sha256": stream.text_sha256, "texts": str(len(scores))}


def _chosen_tables(
    weights: _Weights,
    pool: Ints,
    text: Sequence[str | os.PathLike[str]] | None,
    dataset: str | None,
    whole_vocabulary: bool,
    step: Callable[[], None],
) -> tuple[dict[str, Any], dict[str, str]]:
    """Token pairs and skip-trigrams of the chosen heads, and attrs."""
    model = weights.model
    if not weights.chosen:
        return {}, {}
    tokenizer = model.vocabulary.tokenizer
    stream = chunks(tokenizer, length=tables.PIECE, files=text, dataset=dataset, bos=False)
    frequent = most_frequent(tables.token_counts(stream, len(tokenizer)), pool, FREQUENT)
    if not len(frequent):
        raise InvalidArgument(
            f"{stream.name} holds none of the model's ordinary tokens, so there are no pairs of them",
            "give a text in a language of the model",
        )
    rows: list[dict[str, Any]] = []
    for layer, head in weights.chosen:
        own = tables.ChosenHead(
            model.heads(layer), head, weights.kept[layer, head], weights.ends, _reaches_logits(model, layer)
        )
        joined = own.vectors(frequent)
        paired, ids = (own.vectors(pool), pool) if whole_vocabulary else (joined, frequent)
        found = {**tables.pair_rows(paired, ids), **tables.trigram_rows(joined, frequent)}
        rows.append(tables.with_tokens(found, tokenizer))
        step()
    variables: dict[str, Any] = {
        "chosen": ("chosen", [head_name(head) for head in weights.chosen]),
        "circuit": ("circuit", list(tables.CIRCUITS)),
    }
    absent = {name for row in rows for name in row if any(name not in other for other in rows)}
    for name in rows[0].keys() - absent:
        dims = ("chosen", "circuit", "rank") if name.startswith("pair") else ("chosen", "trigram")
        variables[name] = (dims, np.stack([row[name] for row in rows]))
    return variables, {
        "text": stream.name,
        "text_sha256": stream.text_sha256,
        "pair_tokens": str(len(pool if whole_vocabulary else frequent)),
        "trigram_tokens": str(len(frequent)),
        "pair_note": tables.NOTE,
    }
