"""What TransformerLens also computes, beside it: composition scores of all pairs of heads, and attention patterns.

A GPT-2 of 4 layers × 12 heads with random weights, float64 on both sides, read from one folder.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from checks.benchmarks.case import Calls, Case, apart
from numerics.circuits.composition import KINDS, composition, sides
from numerics.circuits.factors import Factors
from numerics.models import Model, load_model
from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]

LAYERS, HEADS, WIDTH, LENGTH = 4, 12, 768, 256
AGREEMENT = 1e-10


def missing() -> str:
    found = importlib.util.find_spec("transformer_lens")
    return "" if found else "TransformerLens is not installed; pip install '.[peers]' to compare with it"


def all_compositions(layers: list[list[Factors]]) -> Float:
    """Scores (3, L, H, L, H) of every later head on every earlier one, 0 elsewhere."""
    found = np.zeros((len(KINDS), LAYERS, HEADS, LAYERS, HEADS))
    writes: list[Float] = []
    for later, heads in enumerate(layers):
        halves = [sides(head) for head in heads]
        reads = np.stack([half.read for half in halves], axis=1)
        for earlier, written in enumerate(writes):
            found[:, later, :, earlier] = composition(reads, written)
        writes.append(np.stack([half.write for half in halves]))
    return found


def patterns(model: Model, ids: torch.Tensor) -> Float:
    """Attention (L, H, T, T) of one text through the visitor."""
    found: list[Float] = []

    def keep(call: AttentionCall) -> None:
        found.append(call.pattern()[0].numpy())

    with torch.no_grad(), model.attention(keep):
        model.forward(ids, logits=False)
    return np.stack(found)


def factors(model: Model) -> list[list[Factors]]:
    """Raw factors of every head, by layer."""
    found = []
    for layer in range(model.n_layers):
        heads = model.heads(layer)
        found.append([Factors(heads.W_Q[h], heads.W_K[h], heads.W_V[h], heads.W_O[h]) for h in range(heads.n_heads)])
    return found


@contextmanager
def both_models() -> Iterator[tuple[Model, Any]]:
    """Ours and theirs, from one folder that is there until both have read what they need."""
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(n_layer=LAYERS, n_head=HEADS, n_embd=WIDTH, vocab_size=1000, n_positions=LENGTH)
    with tempfile.TemporaryDirectory() as place:
        GPT2LMHeadModel(config).save_pretrained(Path(place))
        yield load_model(place, dtype="float64"), TransformerBridge.boot_transformers(place, dtype=torch.float64)


def compositions() -> Calls:
    with both_models() as (ours, theirs):
        heads = factors(ours)

    def by_peer() -> Float:
        with torch.no_grad():
            scores = [theirs.all_composition_scores(kind).scores.numpy() for kind in KINDS]
        return np.moveaxis(np.stack(scores), (1, 2, 3, 4), (3, 4, 1, 2))  # theirs are earlier first

    return {"TransformerLens": by_peer, "n × n products": lambda: all_compositions(heads)}


def attention() -> Calls:
    ids = torch.as_tensor(np.random.default_rng(0).integers(0, 1000, (1, LENGTH)))
    with both_models() as (ours, theirs):
        patterns(ours, ids)  # reads the weights

    def by_peer() -> Float:
        with torch.no_grad():
            _, cache = theirs.run_with_cache(ids)
        return np.stack([cache[f"blocks.{layer}.attn.hook_pattern"][0].numpy() for layer in range(LAYERS)])

    return {"TransformerLens": by_peer, "visitor": lambda: patterns(ours, ids)}


CASES = (
    Case(
        f"composition, {LAYERS} layers × {HEADS} heads", ("TransformerLens", "n × n products"), compositions,
        apart(AGREEMENT), threads=None,
    ),
    Case(
        f"attention patterns, {LAYERS} layers", ("TransformerLens", "visitor"), attention, apart(AGREEMENT), T=LENGTH,
        threads=None,
    ),
)  # fmt: skip
