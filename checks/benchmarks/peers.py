"""What TransformerLens also computes, beside it: composition scores of all pairs of heads, and attention patterns.

`python -m checks.benchmarks.peers --out DIR` writes `DIR/peers.json`: the machine, and rows
`{op, path, T, bands, p20, p50, p80, bytes}` (seconds; `bytes` is the peak of what one call allocates in numpy alone).
A GPT-2 of 4 layers × 12 heads with random weights, float64 on both sides, read from one folder. Exit status 1 if the
two disagree by more than 1e-10, 3 if TransformerLens is not installed (extra `peers`).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from checks.benchmarks.timing import machine, row, timed
from numerics.circuits.composition import KINDS, composition, sides
from numerics.circuits.factors import Factors
from numerics.models import Model, load_model
from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]

MISSING = 3
LAYERS, HEADS, WIDTH, LENGTH = 4, 12, 768, 256
AGREEMENT = 1e-10


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


def save_model(folder: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(n_layer=LAYERS, n_head=HEADS, n_embd=WIDTH, vocab_size=1000, n_positions=LENGTH)
    GPT2LMHeadModel(config).save_pretrained(folder)


def factors(model: Model) -> list[list[Factors]]:
    """Raw factors of every head, by layer."""
    found = []
    for layer in range(model.n_layers):
        heads = model.heads(layer)
        found.append([Factors(heads.W_Q[h], heads.W_K[h], heads.W_V[h], heads.W_O[h]) for h in range(heads.n_heads)])
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for peers.json")
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args(arguments)
    if importlib.util.find_spec("transformer_lens") is None:
        print("TransformerLens is not installed: pip install '.[peers]' to compare with it")
        return MISSING
    from transformer_lens.model_bridge import TransformerBridge

    with tempfile.TemporaryDirectory() as place:
        save_model(Path(place))
        ours = load_model(place, dtype="float64")
        theirs: Any = TransformerBridge.boot_transformers(place, dtype=torch.float64)
        heads, ids = factors(ours), torch.as_tensor(np.random.default_rng(0).integers(0, 1000, (1, LENGTH)))
        own = patterns(ours, ids)

    def their_compositions() -> Float:
        with torch.no_grad():
            scores = [theirs.all_composition_scores(kind).scores.numpy() for kind in KINDS]
        return np.moveaxis(np.stack(scores), (1, 2, 3, 4), (3, 4, 1, 2))  # theirs are earlier first

    def their_patterns() -> Float:
        with torch.no_grad():
            _, cache = theirs.run_with_cache(ids)
        return np.stack([cache[f"blocks.{layer}.attn.hook_pattern"][0].numpy() for layer in range(LAYERS)])

    worst = {
        "composition": float(np.abs(all_compositions(heads) - their_compositions()).max()),
        "attention patterns": float(np.abs(own - their_patterns()).max()),
    }
    for name, error in worst.items():
        print(f"{name}: largest disagreement with TransformerLens {error:.1e} (allowed {AGREEMENT:.0e})")
    if not max(worst.values()) <= AGREEMENT:
        return 1
    comparisons: dict[str, dict[str, Callable[[], object]]] = {
        f"composition, {LAYERS} layers × {HEADS} heads": {
            "TransformerLens": their_compositions,
            "n × n products": lambda: all_compositions(heads),
        },
        f"attention patterns, {LAYERS} layers": {
            "TransformerLens": their_patterns,
            "visitor": lambda: patterns(ours, ids),
        },
    }
    rows = []
    for op, paths in comparisons.items():
        seconds = timed(paths, chosen.repeats)
        tokens = LENGTH if "patterns" in op else None
        rows += [row(op, name, call, seconds[name]) | {"T": tokens} for name, call in paths.items()]
        first, second = (float(np.median(seconds[name])) for name in paths)
        print(f"{op}: {' / '.join(paths)} = {first / second:.2f}")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "peers.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
