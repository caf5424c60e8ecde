"""Total activation on a GPU: tiles against a kernel of rows, strips in torch, and the half-plane sweep on the host.

`bands` counts those of all heads; the peak is that on the GPU above the inputs. With `TRITON_INTERPRET=1` it runs
without a GPU, which is for its tests.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from checks.benchmarks.case import Calls, Case
from numerics.bands.activation import tiles, total_activation
from numerics.bands.activation.bounds import error_factor

Tensor = torch.Tensor

HEADS, BANDS = 8, 64
STRIPS_UP_TO = 2**14
"""Beyond this the strips of torch take seconds a call."""
CROSSOVER_BANDS = 4


def missing() -> str:
    if find_spec("triton") is None:
        return "triton is not installed; pip install '.[gpu]'"
    return "" if torch.cuda.is_available() or tiles.interpreting() else "torch sees no GPU here"


def by_rows(q: Tensor, k: Tensor) -> Tensor:
    from checks.benchmarks import row_kernel

    return row_kernel.by_rows(q, k)


def by_strips(q: Tensor, k: Tensor) -> Tensor:
    """Activation (H, B) in torch, strips of queries against all their keys, float32 without TF32."""
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


PATHS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "by rows": by_rows, "triton": by_tiles, "strips": by_strips, "halfplane": on_host,
}  # fmt: skip


def inputs(heads: int, length: int, bands: int) -> tuple[Tensor, Tensor]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator(device=device).manual_seed(length)
    q, k = torch.randn(2, heads, length, 2 * bands, generator=generator, device=device).bfloat16()
    return q, k


def calls(paths: Sequence[str], heads: int, length: int, bands: int) -> Calls:
    """A call per path, which ends with the GPU idle."""
    torch.backends.cuda.matmul.allow_tf32 = False
    q, k = inputs(heads, length, bands)

    def finished(path: str) -> Any:
        found = PATHS[path](q, k)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return found.cpu().numpy() if isinstance(found, Tensor) else found

    return {path: partial(finished, path) for path in paths}


def share_of_bound(heads: int, length: int, bands: int, of: Calls) -> float:
    """The largest error against the half-plane sum, as a share of the bound of plain float32 sums over T keys."""
    q, k = inputs(heads, length, bands)
    right = on_host(q, k)
    x, y = (torch.linalg.vector_norm(z.double().view(heads, length, 2, -1), dim=2).cpu().numpy() for z in (q, k))
    size = np.einsum("hib,hib->hb", x, np.cumsum(y, axis=1))
    plain = (length + 64) * float(np.finfo(np.float32).eps)
    factors = {"triton": error_factor("triton", length), "halfplane": error_factor("halfplane", length)}
    return max(float((np.abs(call() - right) / (factors.get(path, plain) * size)).max()) for path, call in of.items())


def peak(call: Callable[[], Any]) -> int:
    """Bytes on the GPU above what was there before; 0 without one."""
    if not torch.cuda.is_available():
        return 0
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    return int(torch.cuda.max_memory_allocated() - before)


def case(op: str, paths: tuple[str, ...], heads: int, length: int, bands: int) -> Case:
    return Case(
        op, paths, partial(calls, paths, heads, length, bands), partial(share_of_bound, heads, length, bands),
        T=length, bands=heads * bands, turns=9, threads=None, peak=peak,
    )  # fmt: skip


def cases(heads: int, bands: int, lengths: Sequence[int], alone: int, crossover: Sequence[int]) -> tuple[Case, ...]:
    """Tiles against other kernels over all heads; then against the host, on one head of `alone` bands."""
    found = []
    for T in lengths:
        strips = ("strips",) if T <= STRIPS_UP_TO else ()
        found.append(case("total activation, GPU", ("by rows", "triton", *strips), heads, T, bands))
    found += [case("one head, GPU and host", ("triton", "halfplane"), 1, T, alone) for T in crossover]
    return tuple(found)


CASES = cases(HEADS, BANDS, [2**10, 2**12, 2**14, 2**16], CROSSOVER_BANDS, [2**12, 2**14, 2**16, 2**18, 2**20])


def float32_peak() -> tuple[str, float]:
    """Name of the GPU and its float32 additions or fused products per second, at its highest clock."""
    if not torch.cuda.is_available():
        return "none", math.nan
    found = torch.cuda.get_device_properties(0)
    query = ["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits", "--id=0"]
    clock = float(subprocess.run(query, capture_output=True, text=True, check=True).stdout)
    lanes = 64 if (found.major, found.minor) in ((7, 0), (7, 5), (8, 0)) else 128
    return found.name, found.multi_processor_count * lanes * clock * 1e6


def share_of_peak(rows: Sequence[Mapping[str, Any]], instructions: float) -> dict[int, float]:
    """T → share of the GPU's float32 operations that the tiles do, of `instructions` fused products a second.

    A pair of tokens and a band takes two instructions, a fused product and an addition: 3 of the 4 operations that two
    fused products count for.
    """
    found = {}
    for row in rows:
        if row["op"] == "total activation, GPU" and row["path"] == "triton":
            pairs = row["bands"] * row["T"] * (row["T"] + 1) / 2
            found[row["T"]] = 0.75 * 2 * pairs / row["p50"] / instructions
    return found
