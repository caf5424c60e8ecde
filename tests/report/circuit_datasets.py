"""Made-up datasets shaped as `numerics.head_circuits` returns them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from tests.report.datasets import EVIL_NAME

KINDS = ("previous_token", "duplicate_token", "induction", "first_token", "direct_copying")
EVIL_TOKENS = (
    "<script>document.title='owned'</script>",
    "<b>bold</b>",
    "&lt;",
    " the",
    "a b",
    "\n\n",
    "\t",
    "▁la",
    "\u202egpj",
    "\u200b",
    "\u00a0",
    "\u0301",
    "日本",
    "<img src=x onerror=document.title='owned'>",
)


def shown(values: Any) -> Any:
    """As exact as a page is given them, so that what it prints can be foretold."""
    return np.round(values, 4)


def circuits(
    model: str = "tiny",
    layers: int = 6,
    heads: int = 4,
    chosen: tuple[str, ...] = ("1.2", "4.0"),
    tokens: tuple[str, ...] = EVIL_TOKENS,
    positions: str = "rotary",
    seed: int = 1,
    **attrs: str,
) -> xr.Dataset:
    """Weak behaviours with a strong one here and there; composition around a random level, with a few strong pairs."""
    rng = np.random.default_rng(seed)
    shape = (layers, heads)
    behaviour = rng.beta(1, 12, (*shape, 5))
    strong = rng.random(shape) < 0.3
    which = rng.integers(0, 4, shape)
    place = np.nonzero(strong)
    behaviour[(*place, which[place])] = rng.uniform(0.42, 0.95, strong.sum())
    behaviour[..., 4] = rng.uniform(0.3, 0.9, shape)
    composition = np.abs(rng.normal(0.06, 0.012, (*shape, *shape, 3)))
    composition += np.where(rng.random(composition.shape) < 0.03, rng.uniform(0.05, 0.4, composition.shape), 0)
    later, earlier = np.arange(layers)[:, None], np.arange(layers)
    composition[np.broadcast_to((later <= earlier)[:, None, :, None, None], composition.shape)] = np.nan
    data = {
        "behaviour": (("layer", "head", "kind"), shown(behaviour)),
        "behaviour_sd": (("layer", "head", "kind"), shown(rng.uniform(0.001, 0.05, behaviour.shape))),
        "copying": (("layer", "head"), shown(rng.uniform(-0.6, 1, shape))),
        "composition": (("later_layer", "later_head", "layer", "head", "composition_kind"), composition),
        "composition_baseline": ("composition_kind", np.array([0.0591, 0.0603, 0.0612])),
        "composition_baseline_sd": ("composition_kind", np.array([0.0011, 0.0009, 0.0013])),
        "loss": ("copy", np.array([10.8512, 0.7345])),
        "loss_sd": ("copy", np.array([0.21, 0.05])),
        "in_context_learning": ((), -0.4812),
        "in_context_learning_se": ((), 0.21),
        "in_context_learning_smoothed": ((), -0.3478),
        "in_context_learning_smoothed_se": ((), 0.0561),
    }
    coords = {"kind": list(KINDS), "composition_kind": list("QKV"), "copy": [0, 1]}
    if chosen:
        rank = 20
        names = np.array([*tokens, ""], dtype=np.str_)
        numbers = rng.integers(0, len(tokens), (len(chosen), 2, 2, rank))
        value = -np.sort(-rng.uniform(0.5, 9, (len(chosen), 2, rank)), axis=-1)
        # The last rows of the first head's OV table are filled up.
        numbers[0, :, 1, -3:], value[0, 1, -3:] = -1, np.nan
        trigrams = rng.integers(0, len(tokens), (3, len(chosen), rank))
        data |= {
            "pair_value": (("chosen", "circuit", "rank"), value),
            "pair_left": (("chosen", "circuit", "rank"), numbers[:, 0]),
            "pair_right": (("chosen", "circuit", "rank"), numbers[:, 1]),
            "pair_left_token": (("chosen", "circuit", "rank"), names[numbers[:, 0]]),
            "pair_right_token": (("chosen", "circuit", "rank"), names[numbers[:, 1]]),
            "trigram_qk": (("chosen", "trigram"), rng.uniform(1, 5, (len(chosen), rank))),
            "trigram_ov": (("chosen", "trigram"), rng.uniform(1, 5, (len(chosen), rank))),
        }
        for name, part in zip(("source", "destination", "output"), trigrams, strict=True):
            data[f"trigram_{name}"] = (("chosen", "trigram"), part)
            data[f"trigram_{name}_token"] = (("chosen", "trigram"), names[part])
        coords |= {"chosen": list(chosen), "circuit": ["QK", "OV"]}
        virtual = [f"{a}→{b}" for a in chosen for b in chosen if float(a.split(".")[0]) < float(b.split(".")[0])]
        if virtual:
            data["virtual_behaviour"] = (("virtual", "kind"), shown(rng.random((len(virtual), 5))))
            data["virtual_behaviour_sd"] = (("virtual", "kind"), shown(rng.random((len(virtual), 5)) / 20))
            data["virtual_copying"] = ("virtual", shown(rng.random(len(virtual))))
            coords["virtual"] = virtual
    return xr.Dataset(
        data,
        coords={"layer": np.arange(layers), "head": np.arange(heads), **coords},
        attrs={
            "model": model,
            "source": f"models/{model}",
            "sha256": "0123456789abcdef" * 4,
            "model_type": "gpt2",
            "positions": positions,
            "dtype": "float32",
            "package_version": "0.1.0",
            "created_by": f"numerics circuits {model}",
            "form": "folded",
            "qk_norm": "none",
            "period": 64,
            "copies": 2,
            "seeds": 4,
            **attrs,
        },
    )


def without_circuits(data: xr.Dataset, layer: int, head: int) -> None:
    """A head that the layer does not have: all its numbers are missing."""
    for name in ("behaviour", "behaviour_sd", "copying"):
        data[name].values[layer, head] = np.nan
    data["composition"].values[layer, head] = np.nan
    data["composition"].values[:, :, layer, head] = np.nan


ROTARY_CIRCUITS = circuits("tiny-rotary", 6, 4, seed=4)
# Layer 3 lacks its last head; head 2.1 was not measured (it has a profile); layer 5 does not see the earlier copy.
without_circuits(ROTARY_CIRCUITS, 3, 3)
without_circuits(ROTARY_CIRCUITS, 2, 1)
ROTARY_CIRCUITS["behaviour"].values[5, :, 1:3] = np.nan
ROTARY_CIRCUITS["behaviour_sd"].values[5, :, 1:3] = np.nan
ROTARY_CIRCUITS.attrs["period_note"] = "period 64 reaches beyond the window of layers 5"
# Another model, without a profile; one whose texts are markup.
BROAD_CIRCUITS = circuits("tiny-broad", 7, 12, chosen=(), seed=6)
EVIL_CIRCUITS = circuits(
    EVIL_NAME, 2, 3, chosen=("0.1", "1.2"), seed=9, source="</script><b>bold</b>", text="<img src=x onerror=alert(1)>"
)
EVIL_CIRCUITS.attrs["copying_note"] = "<i>no</i>"
