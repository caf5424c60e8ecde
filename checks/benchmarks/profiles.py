"""Profile of one head: Gram path against QR + eigvalsh, on one BLAS thread.

`python -m checks.benchmarks.profiles --out DIR` writes `DIR/profiles.json`: the machine, and rows
`{op, path, T, bands, p20, p50, p80, bytes}` (seconds; `bytes` is the peak of what one call allocates; T and bands do
not apply). The `qr` path stops at the profile, `gram` goes on to all extras as the product does: the printed ratio is a
lower bound. Exit status 1 if the paths disagree by more than 1e-10.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from checks.benchmarks.timing import machine, row, timed
from numerics.forms.coordinates import profile_coordinates
from numerics.forms.description import describe
from numerics.forms.reduction import reduce_by_gram, reduce_by_qr, reduce_pair
from numerics.forms.spectrum import antisymmetric_energy, symmetric_spectrum
from numerics.models.rotary import RotaryTable

Float = NDArray[np.float64]

HEAD_DIM, WIDTH = 128, 4096
GOAL = 1.7
AGREEMENT = 1e-10
DISTANCES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def by_qr(W_K: Float, W_Q: Float) -> Float:
    """Profile of one head by QR and the eigenvalues of S: what there is to beat."""
    L = reduce_by_qr(W_K, W_Q).form()
    return profile_coordinates(symmetric_spectrum(L), antisymmetric_energy(L))


def by_gram(W_K: Float, W_Q: Float) -> Float:
    """Profile and extras of one head as `numerics.profile` computes them."""
    reduction = reduce_pair(W_K, W_Q)
    return describe(reduction.form(), reduction.noise).profile


def at_all_distances(W_K: Float, W_Q: Float, rotary: RotaryTable) -> list[Float]:
    """Profiles of one rotary head at the 15 default distances, from one reduction."""
    reduction = reduce_pair(W_K, W_Q)
    return [describe(reduction.form(lambda x, δ=δ: rotary.relative(x, δ)), reduction.noise).profile for δ in DISTANCES]  # type: ignore[misc]


def largest_disagreement(W_K: Float, W_Q: Float) -> float:
    """Between the two paths, over profile and spectrum, on the given head and on degenerate ones made from it."""
    rank_4 = W_Q[:, :4] @ W_K[:4]
    pairs = [(W_K, W_Q), (W_K, W_K), (W_K, -2 * W_K), (rank_4, W_Q)]
    if reduce_by_gram(W_K, W_Q) is None:
        raise SystemExit("the random head does not take the Gram path: nothing to compare")
    worst = 0.0
    for key, query in pairs:
        fast, slow = reduce_pair(key, query), reduce_by_qr(key, query)
        ours, theirs = describe(fast.form(), fast.noise), describe(slow.form(), slow.noise)
        worst = max(worst, float(np.abs(ours.profile - theirs.profile).max()))
        worst = max(worst, float(np.abs(ours.spectrum - theirs.spectrum).max()))
        worst = max(worst, float(np.abs(by_gram(key, query) - by_qr(key, query)).max()))
    return worst


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for profiles.json")
    parser.add_argument("--repeats", type=int, default=30)
    chosen = parser.parse_args(arguments)

    rng = np.random.default_rng(0)
    W_K, W_Q = rng.standard_normal((2, HEAD_DIM, WIDTH))
    gemma_K, gemma_Q = rng.standard_normal((2, 256, 640))
    rotary = RotaryTable(256, "half", 1e4 ** (-np.arange(128) / 128))
    with threadpool_limits(1, user_api="blas"):
        worst = largest_disagreement(W_K, W_Q)
        print(f"largest disagreement of the paths: {worst:.1e} (allowed {AGREEMENT:.0e})")
        if not worst <= AGREEMENT:
            return 1
        op = f"profile n={HEAD_DIM} D={WIDTH}"
        paths: dict[str, Callable[[], object]] = {"qr": lambda: by_qr(W_K, W_Q), "gram": lambda: by_gram(W_K, W_Q)}
        seconds = timed(paths, chosen.repeats)
        rows = [row(op, name, call, seconds[name]) for name, call in paths.items()]
        many: dict[str, Callable[[], object]] = {"gram": lambda: at_all_distances(gemma_K, gemma_Q, rotary)}
        for name, samples in timed(many, max(1, chosen.repeats // 10)).items():
            rows.append(row(f"profile n=256 D=640 distances={len(DISTANCES)}", name, many[name], samples))

    ratio = float(np.median(np.array(seconds["qr"]) / np.array(seconds["gram"])))
    for line in rows:
        print(f"{line['op']:34} {line['path']:5} p50 {1e3 * line['p50']:7.1f} ms, {line['bytes'] / 2**20:5.1f} MiB")
    print(f"gram is {ratio:.2f} x as fast as qr (goal {GOAL})")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "profiles.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
