"""Fisher information of the bands of a document: one backward pass for all positions against one per position.

`python -m checks.benchmarks.fisher --out DIR` writes `DIR/fisher.json`: the machine, and rows
`{op, path, T, bands, p20, p50, p80, bytes}` (seconds; `bytes` is the peak of what one call allocates in numpy alone).
On Gemma 3 270M, all layers, heads and bands. Exit status 1 if the gradient of the sum and the sum of the gradients
disagree by more than 1e-3 of the largest (float32).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from checks.benchmarks.timing import machine, row, timed
from numerics.bands.likelihood import gradient_at_hidden
from numerics.bands.measure import factor_gradients, rotary_tables, unembedding_of
from numerics.bands.scaling import scale_bands
from numerics.models import load_model
from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]

LENGTH = 24
AGREEMENT = 1e-3


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for fisher.json")
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args(arguments)

    model = load_model("gemma-3-270m", dtype="float32")
    unembedding = unembedding_of(model)
    ids = torch.as_tensor(np.random.default_rng(0).integers(1000, 100_000, LENGTH))
    targets = torch.as_tensor(np.random.default_rng(1).integers(1000, 100_000, LENGTH))
    tables = rotary_tables(model)

    def together() -> list[Float]:
        return factor_gradients(model, unembedding, ids, followed_by(targets))

    def each() -> list[Float]:
        """A backward pass for every position, added up: what single gradients would cost."""
        factors = [torch.ones((model.n_heads, table.n_bands), requires_grad=True) for table in tables]

        def scaled(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor]:
            return scale_bands(call.q, factors[call.layer], tables[call.layer].pairing), call.k

        with torch.enable_grad(), model.attention(scaled):
            hidden = model.forward(ids[None], logits=False)[0]
        gradient = gradient_at_hidden(unembedding, hidden, followed_by(targets))
        total = [np.zeros(factor.shape) for factor in factors]
        for position in range(LENGTH):
            alone = torch.zeros_like(gradient)
            alone[position] = gradient[position]
            found = torch.autograd.grad(hidden, factors, grad_outputs=alone, retain_graph=True)
            total = [a + b.double().numpy() for a, b in zip(total, found, strict=True)]
        return total

    pairs = list(zip(together(), each(), strict=True))
    size = max(float(np.abs(found).max()) for found, _ in pairs)
    worst = max(float(np.abs(found - slow).max()) for found, slow in pairs) / size
    print(f"largest disagreement: {worst:.1e} of the largest gradient (allowed {AGREEMENT:.0e})")
    if not worst <= AGREEMENT:
        return 1
    paths: dict[str, Callable[[], object]] = {"backward per position": each, "one backward": together}
    seconds = timed(paths, chosen.repeats)
    bands = len(pairs[0][0][0])
    rows = [row("fisher", name, call, seconds[name]) | {"T": LENGTH, "bands": bands} for name, call in paths.items()]
    for line in rows:
        print(f"{line['path']:22} p50 {line['p50']:6.2f} s")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "fisher.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return 0


def followed_by(targets: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """The given next tokens, whatever their probability, block after block of rows."""
    place = 0

    def choose(log_f: torch.Tensor) -> torch.Tensor:
        nonlocal place
        found = targets[place : place + len(log_f)]
        place += len(log_f)
        return found

    return choose


if __name__ == "__main__":
    sys.exit(main())
