"""What a transformers model itself computes, taken from its own eager forward pass without our visitor."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from numerics.models import Model


class SoftmaxRecorder(TorchFunctionMode):
    """Keeps the argument and the result of every softmax: the model's own scores, mask and bias included."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") == "softmax":
            self.calls.append((args[0].detach().clone(), result.detach().clone()))
        elif func is torch.nn.functional.scaled_dot_product_attention:  # Falcon with ALiBi
            q, k, mask = args[0].detach(), args[1].detach(), kwargs["attn_mask"]
            scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask
            self.calls.append((scores, torch.softmax(scores, dim=-1)))
        return result


class InFloat64(TorchFunctionMode):
    """Models cast to float32 here and there whatever their dtype; under this mode every such cast goes to float64.

    Same comparison, finer arithmetic: a gap that is rounding must shrink by about eight orders, a wrong formula stays.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {key: torch.float64 if value is torch.float32 else value for key, value in (kwargs or {}).items()}
        args = tuple(torch.float64 if value is torch.float32 else value for value in args)
        if func is torch.Tensor.float:
            return args[0].double()
        return func(*args, **kwargs)


@dataclass
class Truth:
    """Per layer: input of the attention, its scores, pattern, output after W_O, and its (cos, sin) per band."""

    x: dict[int, Any] = field(default_factory=dict)
    scores: dict[int, Any] = field(default_factory=dict)
    pattern: dict[int, Any] = field(default_factory=dict)
    output: dict[int, Any] = field(default_factory=dict)
    rotation: dict[int, Any] = field(default_factory=dict)
    result: Any = None


def observe(model: Model, ids: torch.Tensor, *, float64: bool) -> Truth:
    """Run `model` eagerly on one text (1, T) and keep what each layer's attention computed."""
    arch, module, truth = model._architecture, model._module, Truth()
    recorder = SoftmaxRecorder()

    def before(layer: int, args: Any, kwargs: Any) -> None:
        truth.x[layer] = (args[0] if args else kwargs["hidden_states"])[0].double().numpy()
        embeddings = kwargs.get("position_embeddings")
        table = model.positions.rotary(layer)
        if embeddings is not None and table is not None:
            truth.rotation[layer] = per_band(model, embeddings, table.n_bands)
        truth.scores[layer] = len(recorder.calls)

    def after(layer: int, output: Any) -> None:
        truth.output[layer] = output[0].double().numpy()

    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        for layer in range(model.n_layers):
            attention = module.base_model.get_submodule(arch.attention_module(layer))
            projection = module.base_model.get_submodule(arch.block_name(layer) + arch.projections.o)
            hook = attention.register_forward_pre_hook(
                lambda _, args, kwargs, layer=layer: before(layer, args, kwargs), with_kwargs=True
            )
            stack.callback(hook.remove)
            handle = projection.register_forward_hook(lambda _, __, output, layer=layer: after(layer, output))
            stack.callback(handle.remove)
        if float64:
            stack.enter_context(InFloat64())
        stack.enter_context(recorder)
        truth.result = model.forward(ids)
    for layer, index in truth.scores.items():
        scores, pattern = recorder.calls[index]
        shape = (model.n_heads, ids.shape[1], ids.shape[1])
        truth.scores[layer] = scores.reshape(shape).double().numpy()
        truth.pattern[layer] = pattern.reshape(shape).double().numpy()
    return truth


def per_band(model: Model, embeddings: Any, bands: int) -> tuple[Any, Any]:
    """(cos, sin) (T, B) from what the model hands its attention, by the layouts that transformers 5.24 uses."""
    first, second = (np.asarray(part[0].double()) for part in embeddings)
    if model.model_type in ("gptj", "codegen"):
        return second, first
    if model.model_type == "cohere":
        return first[:, ::2], second[:, ::2]
    return first[:, :bands], second[:, :bands]
