"""Made-up datasets of any size, shaped as `numerics.profile` and `numerics.positional_kernels` return them."""

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


def kernels(
    model: str = "tiny",
    layers: int = 6,
    heads: int = 12,
    length: int = 64,
    queries: int = 8,
    causal: bool = False,
    positions: str = "learned absolute",
    seed: int = 1,
    **attrs: str,
) -> xr.Dataset:
    """Kernels exp(−|distance − offset|/reach) with reaches from one key to flat, the numbers that follow from them."""
    rng = np.random.default_rng(seed)
    texts = np.random.default_rng((seed, 1))
    places = np.round(length * np.arange(1, queries + 1) / queries).astype(int) - 1
    keys = np.arange(length)
    skip = 5
    distance = places[:, None] - keys
    allowed = (keys >= skip) & (distance >= 0 if causal else np.ones_like(distance, dtype=bool))
    reach = 10.0 ** rng.uniform(-0.7, 3, (layers, heads))
    offset = rng.integers(0, 4, (layers, heads))
    exponent = -np.abs(distance - offset[..., None, None]) / reach[..., None, None]
    weights = np.where(allowed, np.exp(exponent), 0.0)
    kernel = weights / weights.sum(axis=-1, keepdims=True)
    etc = 1 / (kernel**2).sum(axis=-1)
    size = allowed[-1].sum()
    category = np.where(etc[..., -1] <= 16, "local", np.where(etc[..., -1] >= 0.7 * size, "uniform", "slow decay"))
    far = np.arange(0 if causal else 1 - length, length)
    profile = np.full((layers, heads, len(far)), np.nan)
    for i, d in enumerate(far):
        there = (distance == d) & allowed
        if there.any():
            profile[..., i] = (kernel * there).sum(axis=(-2, -1)) / there.sum()
    variation = np.abs(kernel[:, :, None] - kernel[:, None]).sum(-1).mean(-1) / 2
    head, row = ("layer", "head"), ("layer", "head", "query")
    predicted = 10 ** rng.uniform(-1.5, 0.5, etc.shape)
    measured = predicted * 10 ** rng.normal(0, 0.2, etc.shape)
    met = {(True, True): "both", (True, False): "predicted", (False, True): "measured", (False, False): ""}
    broad = etc[..., -1] > 16
    criteria = zip(
        (broad & (predicted[..., -1] <= 0.25)).ravel(), (broad & (measured[..., -1] <= 0.25)).ravel(), strict=True
    )
    return xr.Dataset(
        {
            "kernel": ((*row, "key"), kernel.astype(np.float32)),
            "kernel_gallery": (
                (*head, "gallery_query", "gallery_text", "key"),
                np.stack([kernel[:, :, [3, -1]], kernel[:, :, [3, -1]] ** 2], axis=3),
            ),
            "denominator": ((*row, "text"), 10 ** texts.normal(0, 0.3, (*etc.shape, 3))),
            "exceedance": ((*head, "deviation"), texts.uniform(0, 0.4, (*reach.shape, 1)) * np.array([1, 0.1, 0])),
            "chebyshev": ((*head, "deviation"), np.tile([1, 0.25, 0.04], (*reach.shape, 1))),
            "hoeffding": ((*head, "deviation"), np.tile([1, 0.9, 0.6], (*reach.shape, 1))),
            "substitution": (
                ("text", "head", "substituted"),
                1 + np.arange(3.0 * heads * 4).reshape(3, heads, 4),
            ),
            "etc": (row, etc),
            "etc_texts_sd": (row, 0.05 * etc),
            "category": (head, category),
            "peak_offset": (head, -offset),
            "equivariance": (head, rng.uniform(0, 0.3, reach.shape)),
            "consistency": (head, rng.uniform(0, 0.3, reach.shape)),
            "tv_kernel": (head, rng.uniform(0, 0.3, reach.shape)),
            "tv_uniform": (head, rng.uniform(0, 1, reach.shape)),
            "sink_mass": (head, rng.uniform(0, 0.5, reach.shape)),
            "group": (head, rng.integers(0, 3, reach.shape)),
            "kernel_variation": ((*head, "other"), variation),
            "contextual": (head, np.array([met[bool(p), bool(m)] for p, m in criteria]).reshape(reach.shape)),
            "key_bias_share": (head, rng.uniform(0, 1, reach.shape)),
            "denominator_mean": (row, np.ones(etc.shape)),
            "denominator_sd": (row, measured),
            "denominator_sd_predicted": (row, predicted),
            "denominator_decay": (head, rng.normal(0, 0.1, reach.shape)),
            "positional_share": ("layer", np.linspace(0.2, 0.01, layers)),
            "distance_profile": ((*head, "distance"), profile),
            "content_survival": (("layer", "shift"), rng.uniform(0.7, 1, (layers, 2))),
            "tv_first_layer": (("head", "query"), rng.uniform(0, 0.2, (heads, queries))),
        },
        coords={
            "layer": np.arange(layers),
            "head": np.arange(heads),
            "query": places,
            "key": keys,
            "gallery_query": places[[3, -1]],
            "deviation": [1.0, 2.0, 5.0],
            "distance": far,
            "shift": [1, 16],
            "substituted": [500, 520, 540, 600],
        },
        attrs={
            "model": model,
            "source": f"models/{model}",
            "sha256": "0123456789abcdef" * 4,
            "model_type": "gpt2",
            "positions": positions,
            "dtype": "float32",
            "package_version": "0.1.0",
            "created_by": f"numerics kernels {model}",
            "text": "shipped sample",
            "text_sha256": "fedcba9876543210" * 4,
            "kernel_kind": "mean-key" if causal else "P",
            "samples": "40",
            "skip": str(skip),
            **attrs,
        },
    )


def without_kernel(data: xr.Dataset, layer: int, head: int, category: str = "") -> None:
    """Make a head's numbers missing; with category '' the layer does not have that head."""
    for name, variable in data.data_vars.items():
        if variable.dims[:2] == ("layer", "head") and variable.dtype.kind == "f":
            variable.values[layer, head] = np.nan
        elif name == "kernel_variation":
            variable.values[layer, :, head] = np.nan
    data["category"].values[layer, head] = category
    data["contextual"].values[layer, head] = ""


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
ROTARY_KERNELS = kernels("tiny-rotary", 6, 4, causal=True, positions="rotary", seed=4)
# Head 2.1 was not measured; layer 3 lacks its last head.
without_kernel(ROTARY_KERNELS, 2, 1, "local")
without_kernel(ROTARY_KERNELS, 3, 3)
# Another model, without a profile; one whose texts are markup.
BROAD_KERNELS = kernels("tiny-broad", 3, 12, length=48, seed=6)
EVIL_KERNELS = kernels(
    EVIL_NAME, 2, 3, seed=9, source="</script><b>bold</b>", text="<img src=x onerror=document.title='owned'>"
)
EVIL_KERNELS["category"].values[0, 0] = "<b>new"
