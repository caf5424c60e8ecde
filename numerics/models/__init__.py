"""From a reference to a `Model`: loading, per-head weights, positional schemes, vocabulary, the attention visitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerics.errors import InvalidArgument
from numerics.models.heads import HeadWeights, Norm, Projection, QKNorm
from numerics.models.model import Model
from numerics.models.positions import AlibiBias, Positions, RelativeBias
from numerics.models.rotary import RotaryTable

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "float64", "bfloat16", "float16")


def load_model(reference: str, dtype: str | torch.dtype | None = None, revision: str | None = None) -> Model:
    """Open a model by packaged name (`gemma-3-270m`, `minilm`), local folder, `.gguf` file or Hugging Face id.

    `dtype` is what the model computes in when it is run (default: the dtype of its file); per-head weights are always
    float64. `revision` pins a branch, tag or commit of a Hugging Face id. Nothing is built or read until it is needed.
    Errors: any `NumericsError`, saying what is wrong with the reference or its files.
    """
    from numerics.models.source import resolve

    return Model(resolve(reference, revision), _torch_dtype(dtype))


def _torch_dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    if not isinstance(dtype, str):
        return dtype
    if dtype not in DTYPES:
        raise InvalidArgument(f"dtype {dtype!r} is not known", f"use one of {', '.join(DTYPES)}")
    import torch

    chosen: torch.dtype = getattr(torch, dtype)
    return chosen


__all__ = [
    "AlibiBias",
    "HeadWeights",
    "Model",
    "Norm",
    "Positions",
    "Projection",
    "QKNorm",
    "RelativeBias",
    "RotaryTable",
    "load_model",
]
