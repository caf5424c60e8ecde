"""Made-up datasets shaped as `numerics.band_metrics`, `numerics.ablate` and `numerics.attribute` return them."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tests.report.datasets import EVIL_NAME

Float = NDArray[np.float64]


def attrs(model: str, command: str, **more: str | int) -> dict[str, str | int]:
    return {
        "model": model,
        "source": f"models/{model}",
        "sha256": "0123456789abcdef" * 4,
        "model_type": "llama",
        "positions": "rotary",
        "dtype": "float32",
        "package_version": "0.1.0",
        "created_by": f"numerics {command} {model}",
        "text": "shipped sample",
        "text_sha256": "fedcba9876543210" * 4,
        **more,
    }


def frequencies(layers: int, bands: int, base: float = 10000.0) -> Float:
    """The usual table; a hundred times slower in every third layer, as in models with local and global layers."""
    slow = np.where(np.arange(layers)[:, None] % 3 == 2, 100.0 * base, base)
    return slow ** -(np.arange(bands) / bands)


def bands(
    model: str = "tiny-rotary", layers: int = 6, heads: int = 4, n_bands: int = 16, seed: int = 1, **more: str | int
) -> xr.Dataset:
    """Each head has a bump at some band; the entropy is negative but for a tenth of the bands."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(0, n_bands, (layers, heads, 1))
    bump = np.exp(-(((np.arange(n_bands) - place) / (n_bands / 8)) ** 2)) + rng.uniform(
        0, 0.1, (layers, heads, n_bands)
    )
    against = np.where(rng.random(bump.shape) < 0.1, 0.3, -1.0)
    entropy = 400.0 * against * bump * rng.uniform(0.3, 1, bump.shape)
    entropy_rest = rng.uniform(-100, 0, (layers, heads))
    frequency = frequencies(layers, n_bands)
    return xr.Dataset(
        {
            "activation": (("layer", "head", "band"), 3e6 * bump),
            "activation_unrotated": (("layer", "head"), rng.uniform(0, 1e7, (layers, heads))),
            "entropy": (("layer", "head", "band"), entropy),
            "entropy_unrotated": (("layer", "head"), entropy_rest),
            "entropy_change": (("layer", "head"), entropy.sum(-1) + entropy_rest),
            "residual": (("layer", "head"), rng.uniform(0, 1e-6, (layers, heads))),
            "fisher": (("layer", "head", "band"), 1e-3 * bump**2),
        },
        coords={
            "layer": np.arange(layers),
            "head": np.arange(heads),
            "band": np.arange(n_bands),
            "frequency": (("layer", "band"), frequency),
            "wavelength": (("layer", "band"), 2 * np.pi / frequency),
        },
        attrs=attrs(model, "bands", length=512, documents=2, **more),
    )


def without_bands(data: xr.Dataset, layer: int, first: int) -> None:
    """Make a layer have only `first` bands."""
    for name in ("activation", "entropy", "fisher"):
        data[name].values[layer, :, first:] = np.nan
    for name in ("frequency", "wavelength"):
        data[name].values[layer, first:] = np.nan


def without_head(data: xr.Dataset, layer: int, head: int) -> None:
    """Make a layer lack a head."""
    for variable in data.data_vars.values():
        if variable.dims[:2] == ("layer", "head"):
            variable.values[layer, head] = np.nan


def ablation(
    model: str = "tiny-rotary",
    measured: xr.Dataset | None = None,
    metrics: tuple[str, ...] = ("activation", "entropy", "entropy-signed", "fisher", "random"),
    select: tuple[str, ...] = ("global", "head"),
    fractions: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8),
    seeds: int = 3,
    seed: int = 1,
    **more: str | int,
) -> xr.Dataset:
    """Losses that grow with the fraction, fastest at random; importances of `measured`, as `ablate` has them."""
    rng = np.random.default_rng(seed)
    measured = bands(model) if measured is None else measured
    shape = (len(metrics), len(select), len(fractions), seeds)
    speed = {"activation": 1.0, "entropy": 1.6, "entropy-signed": 4.0, "fisher": 2.5, "random": 12.0}
    nll = np.full(shape, np.nan)
    error = np.full(shape, np.nan)
    for m, metric in enumerate(metrics):
        drawn = seeds if metric == "random" else 1
        wobble = 1 + 0.1 * rng.normal(size=(len(select), len(fractions), drawn))
        nll[m, ..., :drawn] = 3.2 + speed[metric] * (np.array(fractions)[None, :, None] ** 3) * wobble
        error[m, ..., :drawn] = 0.02 * np.array(fractions)[None, :, None]
    ranks = np.full((len(metrics), *measured["activation"].shape), np.nan)
    for m, metric in enumerate(metrics):
        if metric != "random":
            values = measured[metric.removesuffix("-signed")].values
            largest = np.nanmax(np.abs(values), axis=-1, keepdims=True, initial=0)
            ranks[m] = (-values if metric == "entropy-signed" else np.abs(values)) / np.where(largest > 0, largest, 1)
    count = int(np.isfinite(measured["activation"].values).sum())
    both = {"activation", "entropy"} <= set(metrics)
    return xr.Dataset(
        {
            "nll": (("metric", "select", "fraction", "seed"), nll),
            "increase_standard_error": (("metric", "select", "fraction", "seed"), error),
            "importance": (("metric", "layer", "head", "band"), ranks),
            "removed": (
                ("select", "fraction"),
                np.round(np.outer(np.ones(len(select)), fractions) * count).astype(int),
            ),
            "r_squared": ((), 0.6312 if both else np.nan),
            "r_squared_log": ((), 0.7821 if both else np.nan),
            "log_dropped": ((), 3.0 if both else np.nan),
        },
        coords={
            "metric": list(metrics),
            "select": list(select),
            "fraction": list(fractions),
            "seed": np.arange(seeds),
            **{name: measured.coords[name] for name in ("layer", "head", "band", "frequency", "wavelength")},
        },
        attrs=attrs(model, "ablate", **{"length": 512, "documents": 2, "rank_text": "one.txt", **more}),
    )


def attribution(
    model: str = "tiny-rotary",
    tokens: tuple[str, ...] = ("<bos>", "The", " cat", " sat", " on", " the", "\n\n", " mat"),
    n_bands: int = 16,
    layer: int = 5,
    head: int = 1,
    rest: bool = True,
    seed: int = 1,
    **more: str | int,
) -> xr.Dataset:
    """Numbers that keep both identities: per key they sum to its probability, per band to one number."""
    rng = np.random.default_rng(seed)
    parts = n_bands + rest
    probability = rng.dirichlet(np.full(len(tokens), 0.3))
    noise = rng.normal(0, 0.3, (len(tokens), parts)) * np.sqrt(probability)[:, None] / parts
    noise -= noise.mean(axis=0) + noise.mean(axis=1, keepdims=True) - noise.mean()
    values = probability[:, None] / parts + noise
    frequency = frequencies(1, n_bands)[0]
    data = xr.Dataset(
        {
            "attribution": (("key", "band"), values[:, :n_bands]),
            "probability": ("key", probability),
            "residual": ("identity", [1e-12, 2e-12]),
        },
        coords={
            "key": np.arange(len(tokens)),
            "token": ("key", list(tokens)),
            "band": np.arange(n_bands),
            "frequency": ("band", frequency),
            "wavelength": ("band", 2 * np.pi / frequency),
            "identity": ["bands", "keys"],
        },
        attrs=attrs(
            model,
            "attribute",
            **{
                "layer": layer,
                "head": head,
                "query": len(tokens) - 1,
                "query_token": tokens[-1],
                "text": "".join(tokens),
                **more,
            },
        ),
    )
    return data.assign(attribution_unrotated=("key", values[:, n_bands])) if rest else data


BANDS = bands("tiny-rotary", 6, 4, seed=3)
# Layer 1 has half of the bands; layer 3 lacks its last head.
without_bands(BANDS, 1, 8)
without_head(BANDS, 3, 3)
# Another model, of one metric and no part that does not rotate.
FEW_BANDS = bands("tiny-few", 3, 2, 8, seed=5)[["entropy", "entropy_change"]]
EVIL_BANDS = bands(EVIL_NAME, 2, 3, 8, seed=9, text="<img src=x onerror=document.title='owned'>")
ABLATION = ablation("tiny-rotary", BANDS)
EVIL_ABLATION = ablation(EVIL_NAME, EVIL_BANDS, rank_text="<b>bold</b>")
EVIL_TOKENS = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned'>",
    "<b>bold</b>",
    "&lt;",
    " a\u2028b",
    "\u202eright",
    "",
    "\t",
    "\x07",
    "\u2581under",
    "\r\n",
    "\u00a0·",
    "\u0301",
)
ATTRIBUTION = attribution()
EVIL_ATTRIBUTION = attribution(EVIL_NAME, EVIL_TOKENS, query_token="<b>q</b>")
