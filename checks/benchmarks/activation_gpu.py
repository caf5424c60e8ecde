"""Total activation on a GPU: tiles against a kernel of rows, strips in torch, and the half-plane sweep on the host.

`python -m checks.benchmarks.activation_gpu --out DIR` writes `DIR/activation_gpu.json`: the machine with its GPU, rows
`{op, path, T, bands, p20, p50, p80, bytes}` (seconds; `bytes` is the peak on the GPU above the inputs, `bands` counts
those of all heads), and the tiles' share of the float32 peak. Meant to take under 5 minutes. Exit status 1 if a path
leaves the bound of float32 sums. Importing it needs triton; with `TRITON_INTERPRET=1` it runs without a GPU, which is
for its tests.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]

from checks.benchmarks.timing import machine, timed
from numerics.bands.activation import tiles, total_activation
from numerics.bands.activation.bounds import error_factor

Tensor = torch.Tensor

HEADS, BANDS = 8, 64
LENGTHS = [2**10, 2**12, 2**14, 2**16]
STRIPS_UP_TO = 2**14
"""Beyond this the strips of torch take seconds a call."""
CROSSOVER_BANDS = 4
CROSSOVER_LENGTHS = [2**12, 2**14, 2**16, 2**18, 2**20]
CHECKED_LENGTHS = [1, 65, 1537]
REPEATS = 9


@triton.jit  # type: ignore[untyped-decorator]
def _by_rows(
    q: tl.tensor,
    k: tl.tensor,
    out: tl.tensor,
    length: tl.tensor,
    bands: tl.tensor,
    head_step: tl.tensor,
    token_step: tl.tensor,
    QUERIES: tl.constexpr,
    LANES: tl.constexpr,
) -> None:
    """One block of queries and of bands, the keys one after the other, each masked: such a kernel as first written."""
    head = tl.program_id(0)
    block = tl.program_id(2)
    band = tl.program_id(1) * LANES + tl.arange(0, LANES)
    query = block * QUERIES + tl.arange(0, QUERIES)
    start = head.to(tl.int64) * head_step
    known = band < bands
    at = start + query[:, None].to(tl.int64) * token_step + band[None, :]
    inside = (query < length)[:, None] & known[None, :]
    q1 = tl.load(q + at, mask=inside, other=0.0).to(tl.float32)
    q2 = tl.load(q + at + bands, mask=inside, other=0.0).to(tl.float32)
    sums = tl.zeros([QUERIES, LANES], tl.float32)
    for key in range(0, tl.minimum(block * QUERIES + QUERIES, length)):
        here = start + tl.cast(key, tl.int64) * token_step + band
        k1 = tl.load(k + here, mask=known, other=0.0).to(tl.float32)
        k2 = tl.load(k + here + bands, mask=known, other=0.0).to(tl.float32)
        sums += tl.where((query >= key)[:, None], tl.abs(q1 * k1[None, :] + q2 * k2[None, :]), 0.0)
    tl.store(out + (head * tl.num_programs(2) + block) * bands + band, tl.sum(sums, 0), mask=known)


def by_rows(q: Tensor, k: Tensor) -> Tensor:
    """Activation (H, B) of queries and keys (H, T, 2B), layout `half`, contiguous, by the row-at-a-time kernel."""
    heads, length, dims = q.shape
    bands, lanes, queries = dims // 2, 32, 64
    blocks = -(-length // queries)
    out = torch.empty(heads, blocks, bands, dtype=torch.float32, device=q.device)
    grid = (heads, -(-bands // lanes), blocks)
    _by_rows[grid](q, k, out, length, bands, q.stride(0), q.stride(1), QUERIES=queries, LANES=lanes)
    return out.sum(1, dtype=torch.float64)


def by_strips(q: Tensor, k: Tensor) -> Tensor:
    """The same in torch, strips of queries against all their keys, float32 without TF32."""
    heads, length, dims = q.shape
    bands = dims // 2
    q, k = (x.float().view(heads, length, 2, bands).permute(0, 3, 1, 2) for x in (q, k))
    total = torch.zeros(heads, bands, dtype=torch.float64, device=q.device)
    step = max(1, 2**28 // (heads * bands * length))
    for start in range(0, length, step):
        stop = min(length, start + step)
        products = (q[:, :, start:stop] @ k[:, :, :stop].transpose(-1, -2)).abs_().tril_(start)
        total += products.sum((-1, -2), dtype=torch.float64)
    return total


def by_tiles(q: Tensor, k: Tensor) -> Any:
    return total_activation(q, k, n_bands=q.shape[-1] // 2, path="triton")


def on_host(q: Tensor, k: Tensor) -> Any:
    """The half-plane sweep on one core of the host, from tensors on the GPU."""
    return total_activation(q, k, n_bands=q.shape[-1] // 2, path="halfplane")


def inputs(heads: int, length: int, bands: int) -> tuple[Tensor, Tensor]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator(device=device).manual_seed(length)
    q, k = torch.randn(2, heads, length, 2 * bands, generator=generator, device=device).bfloat16()
    return q, k


def share_of_bound() -> float:
    """The largest error against the half-plane sum, as a share of the bound of plain float32 sums over T keys."""
    worst = 0.0
    for length in CHECKED_LENGTHS:
        q, k = inputs(2, length, min(BANDS, 4))
        right = on_host(q, k)
        x, y = (torch.linalg.vector_norm(z.double().view(2, length, 2, -1), dim=2).cpu().numpy() for z in (q, k))
        size = np.einsum("hib,hib->hb", x, np.cumsum(y, axis=1))
        plain = (length + 64) * float(np.finfo(np.float32).eps)
        for path, factor in ((by_tiles, error_factor("triton", length)), (by_rows, plain), (by_strips, plain)):
            found = path(q, k)
            found = found.cpu().numpy() if isinstance(found, Tensor) else found
            worst = max(worst, float((np.abs(found - right) / (factor * size)).max()))
    return worst


def float32_peak() -> tuple[str, float]:
    """Name of the GPU and its float32 additions or fused products per second, at its highest clock."""
    if not torch.cuda.is_available():
        return "none", math.nan
    found = torch.cuda.get_device_properties(0)
    query = ["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits", "--id=0"]
    clock = float(subprocess.run(query, capture_output=True, text=True, check=True).stdout)
    lanes = 64 if (found.major, found.minor) in ((7, 0), (7, 5), (8, 0)) else 128
    return found.name, found.multi_processor_count * lanes * clock * 1e6


def _measured(op: str, paths: dict[str, Callable[[], object]], length: int, bands: int) -> list[dict[str, Any]]:
    """Rows of paths timed in turns; every call ends with the GPU idle."""
    gpu = torch.cuda.is_available()

    def finished(call: Callable[[], object]) -> None:
        call()
        if gpu:
            torch.cuda.synchronize()

    seconds = timed({name: lambda call=call: finished(call) for name, call in paths.items()}, REPEATS)  # type: ignore[misc]
    rows = []
    for name, call in paths.items():
        before = torch.cuda.memory_allocated() if gpu else 0
        if gpu:
            torch.cuda.reset_peak_memory_stats()
        finished(call)
        peak = torch.cuda.max_memory_allocated() - before if gpu else 0
        p20, p50, p80 = np.percentile(seconds[name], [20, 50, 80]).tolist()
        rows.append(
            {"op": op, "path": name, "T": length, "bands": bands, "p20": p20, "p50": p50, "p80": p80, "bytes": peak}
        )
        print(f"{op}, T {length:8}, {bands} bands, {name:10} {1e3 * p50:10.3f} ms, {peak / 2**20:8.1f} MiB", flush=True)
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for activation_gpu.json")
    chosen = parser.parse_args(arguments)
    if not (torch.cuda.is_available() or tiles.interpreting()):
        print("torch sees no GPU here; run this where there is one")
        return 2
    torch.backends.cuda.matmul.allow_tf32 = False
    worst = share_of_bound()
    print(f"largest error: {worst:.1e} of its bound")
    if not worst <= 1:
        return 1
    name, peak = float32_peak()
    rows, shares = [], {}
    for length in LENGTHS:
        q, k = inputs(HEADS, length, BANDS)
        paths: dict[str, Callable[[], object]] = {
            "by rows": lambda q=q, k=k: by_rows(q, k),  # type: ignore[misc]
            "triton": lambda q=q, k=k: by_tiles(q, k),  # type: ignore[misc]
        }
        if length <= STRIPS_UP_TO:
            paths["strips"] = lambda q=q, k=k: by_strips(q, k)  # type: ignore[misc]
        lines = _measured("total activation", paths, length, HEADS * BANDS)
        rows += lines
        p50 = {line["path"]: line["p50"] for line in lines}
        pairs = HEADS * BANDS * length * (length + 1) / 2
        # Two instructions a pair, a fused product and an addition: 3 of the 4 operations that the peak counts for two.
        slots = 2 * pairs / p50["triton"] / peak
        shares[length] = {"instructions": slots, "operations": 0.75 * slots}
        ratios = ", ".join(f"{path} / triton {p50[path] / p50['triton']:.1f}" for path in p50 if path != "triton")
        print(f"T {length}: {ratios}; {100 * slots:.0f} % of the float32 instructions, {75 * slots:.0f} % of the peak")
    for length in CROSSOVER_LENGTHS:
        q, k = inputs(1, length, CROSSOVER_BANDS)
        both: dict[str, Callable[[], object]] = {
            "triton": lambda q=q, k=k: by_tiles(q, k),  # type: ignore[misc]
            "halfplane": lambda q=q, k=k: on_host(q, k),  # type: ignore[misc]
        }
        rows += _measured("one head", both, length, CROSSOVER_BANDS)
        print(f"T {length}: halfplane on the host / triton {rows[-1]['p50'] / rows[-2]['p50']:.2f}")
    made = {
        "machine": machine() | {"gpu": name, "torch": torch.__version__, "triton": str(triton.__version__)},
        "float32_instructions_per_second": None if math.isnan(peak) else peak,
        "share_of_peak": None if math.isnan(peak) else shares,
        "rows": rows,
    }
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "activation_gpu.json").write_text(json.dumps(made, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
