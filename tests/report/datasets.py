"""Made-up profile datasets of any size, shaped as `numerics.profile` returns them."""

from __future__ import annotations

import numpy as np
import xarray as xr

SHOWN_DISTANCES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def dataset(
    model: str = "tiny",
    layers: int = 6,
    heads: int = 12,
    distances: tuple[int, ...] = (0,),
    positions: str = "learned absolute",
    eigenvalues: int = 64,
    seed: int = 1,
    **attrs: str,
) -> xr.Dataset:
    """Points scattered around the accumulating curve, drifting with the distance; spectra that give n₊ and n₋."""
    rng = np.random.default_rng(seed)
    depth = np.linspace(0, 1, layers)[:, None, None]
    reach = np.log1p(np.array(distances)) / 5
    side = np.where(rng.random((layers, heads, 1)) < 0.35, -1.0, 1.0)
    excess = np.clip(0.55 * (1 - depth) + rng.normal(0, 0.22, (layers, heads, 1)) - 0.35 * reach, 0, 0.95)
    excess = np.where(rng.random((layers, heads, 1)) < 0.3, excess * 0.01, excess)
    a = np.clip((1 - excess) / 2 + rng.normal(0, 0.03, excess.shape), 0, 1 - excess)
    b = 1 - excess - a
    profile = np.stack([a, b, excess * (side > 0), excess * (side < 0)], axis=-1)

    rest = excess / (1 - a)
    kind = np.where(rest <= 0.02, "II", np.where(side > 0, "I+", "I-")).astype("<U13")
    decay = np.exp(-np.arange(eigenvalues // 2) / (eigenvalues / 8))
    tilt = (1 + side * excess[..., :1])[..., 0, None]
    spectrum = np.concatenate([decay * tilt, -(decay * (2 - tilt))[..., ::-1]], axis=-1)
    spectrum *= np.sqrt((1 - a[..., :1]) / (spectrum**2).sum(-1, keepdims=True))
    rows = ("layer", "head", "distance")
    rank = rng.uniform(2, eigenvalues / 2, a.shape)
    return xr.Dataset(
        {
            "profile": ((*rows, "coordinate"), profile),
            "symmetric_energy": (rows, 1 - a),
            "pairing": (rows, 1 - np.sqrt(rest)),
            "balance": (rows, np.ones(a.shape)),
            "participation_ratio": (rows, rank * 1.5),
            "stable_rank": (rows, rank),
            "trace_ratio": (rows, side * excess),
            "n_positive": (rows, np.full(a.shape, eigenvalues / 2)),
            "n_negative": (rows, np.full(a.shape, eigenvalues / 2)),
            "type": (rows, kind),
            "baseline": ("coordinate", np.array([0.49923, 0.49771, 0.00153, 0.00153])),
            "symmetric_spectrum": (("layer", "head", "eigenvalue"), spectrum.astype(np.float32)),
        },
        coords={
            "layer": np.arange(layers),
            "head": np.arange(heads),
            "distance": list(distances),
            "coordinate": list("abcd"),
        },
        attrs={
            "model": model,
            "source": f"models/{model}",
            "sha256": "0123456789abcdef" * 4,
            "model_type": "gpt2",
            "positions": positions,
            "dtype": "float32",
            "package_version": "0.1.0",
            "created_by": f"numerics report {model}",
            "form": "raw",
            "qk_norm": "none",
            "width": "768",
            "head_dim": "64",
            **attrs,
        },
    )


def blank(data: xr.Dataset, layer: int, head: int, kind: str) -> None:
    """Make a head `zero` (L = 0) or, with kind '', one that the layer does not have."""
    for name, variable in data.data_vars.items():
        if name == "type":
            variable.values[layer, head] = kind
        elif variable.dims[:2] == ("layer", "head"):
            counted = kind == "zero" and (name in ("n_positive", "n_negative", "symmetric_spectrum"))
            variable.values[layer, head] = 0 if counted else np.nan


ROTARY = dataset("tiny-rotary", 6, 4, (0, 1, 4, 16), "rotary", seed=3)
ABSOLUTE = dataset("tiny-absolute", 7, 12, seed=5)
# `<b>` and `&lt;` are what Plotly would read as markup.
EVIL_NAME = "<script>document.title='owned'</script><b>bold</b>&lt;<img src=x onerror=document.title='owned'>"
# Text that would end a script, start markup for Plotly, or end a line of JavaScript.
EVIL = dataset(
    EVIL_NAME, 2, 3, seed=9, source="</script><b>bold</b>", created_by="a\u2028b & 'c' \"d\"", form="<i>raw</i>"
)
# Head 2.1 has L = 0; layer 3 lacks its last head.
blank(ROTARY, 2, 1, "zero")
blank(ROTARY, 3, 3, "")
