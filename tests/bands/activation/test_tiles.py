"""The triton path: its table on the GPU or in the interpreter, and its kernels compiled for GPUs that are not here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from numerics.bands.activation import total_activation
from numerics.errors import InvalidArgument

ROOT = Path(__file__).parents[3]
GPU = torch.cuda.is_available()

COMPILE = """
import json, sys
import triton
from triton.backends.compiler import GPUTarget
from numerics.bands.activation import tile_kernels, tiles

def compiled(kernel, capability, pointers, constants, **options):
    names = kernel.arg_names
    numbers = {name: "i64" if "_" in name else "i32" for name in names}  # strides are 64 bits
    signature = numbers | pointers | dict.fromkeys(constants, "constexpr")
    source = triton.compiler.ASTSource(fn=kernel, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    return {"ptx": len(made.asm["ptx"]), "cubin": len(made.asm["cubin"]), "shared": made.metadata.shared}

found = {}
for capability in (80, 90):
    for kind in ("fp32", "bf16", "fp64"):
        constants = {"QUERY": kind != "bf16", "DOUBLE": kind == "fp64"}
        constants |= {"TOKENS": tiles.PACK_TOKENS, "BANDS": tiles.PACK_BANDS}
        pointers = {"first": "*" + kind, "second": "*" + kind, "factor": "*fp64", "packed": "*fp32"}
        found[f"pack {kind} sm_{capability}"] = compiled(tile_kernels.pack, capability, pointers, constants)
    constants = {"QUERIES": tiles.QUERIES, "KEYS": tiles.KEYS, "FLUSH": tiles.FLUSH}
    found[f"tile_rows sm_{capability}"] = compiled(
        tile_kernels.tile_rows, capability, {name: "*fp32" for name in ("q", "k", "rows")}, constants,
        num_warps=tiles.WARPS, maxnreg=tiles.REGISTERS,
    )
print(json.dumps(found))
"""

WITHOUT = """
import sys
sys.modules["triton"] = sys.modules["numba"] = None
import numpy as np
from numerics.bands.activation import choose, total_activation
from numerics.errors import MissingExtra

q, k = np.random.default_rng(0).standard_normal((2, 1, 2000, 4))
values = [total_activation(q, k, n_bands=2, path=path) for path in ("direct", "halfplane", None)]
assert all(np.allclose(value, values[0], rtol=1e-12) for value in values)
assert choose(10**5, device="cuda") == "halfplane"
try:
    total_activation(q, k, n_bands=2, path="triton")
except MissingExtra as error:
    print(error)
"""


def environment(**changed: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    return {**kept, "PYTHONPATH": str(ROOT), **changed}


def test_table() -> None:
    chosen = environment() if GPU else environment(TRITON_INTERPRET="1")
    table = "tests/bands/activation/table_of_tiles.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", table]
    ran = subprocess.run(command, cwd=ROOT, env=chosen, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
    passed = re.search(r"^(\d+) passed in", ran.stdout, re.MULTILINE)
    assert passed, ran.stdout[-2000:]
    assert int(passed[1]) >= 60


def test_kernels_compile_for_sm_80_and_sm_90(tmp_path: Path) -> None:
    """Typing errors that the interpreter does not see, and the shared memory of the tiles, without a GPU."""
    chosen = environment(TRITON_CACHE_DIR=str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", COMPILE], env=chosen, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    found = json.loads(ran.stdout)
    assert len(found) == 8
    for kernel, made in found.items():
        assert made["ptx"] > 1000, kernel
        assert made["cubin"] > 1000, kernel
        assert made["shared"] <= 48 * 1024, kernel  # of the smallest GPUs


def test_everything_else_works_without_triton_and_numba() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT], env=environment(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout == ("the path 'triton' needs the optional extra 'gpu'; run: pip install 'numerics[gpu]'\n")


def test_importing_loads_neither_triton_nor_numba() -> None:
    look = "import sys, numerics.bands.activation; print({'triton', 'numba'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", look], env=environment(), capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def test_triton_without_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    x = np.ones((1, 3, 2))
    with pytest.raises(InvalidArgument, match="needs a GPU, and torch sees none; use the path 'halfplane'"):
        total_activation(x, x, n_bands=1, path="triton")
