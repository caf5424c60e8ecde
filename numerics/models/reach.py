"""How a visitor is brought to the attention of a transformers model.

Most models look their attention function up in `ALL_ATTENTION_FUNCTIONS`: there, ours calls the visitor and then the
model's own eager function, so nothing of its arithmetic is repeated here. BLOOM and GPT-Neo compute the scores behind a
method that can be wrapped; MPT, Falcon and MPNet compute them inline, so their forward is written out with the visitor
in its place, every operation as the model has it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

import torch
from torch.nn import functional
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from numerics.errors import UnreachableAttention
from numerics.models.visitor import Site, Tensor

IMPLEMENTATION = "numerics_visitor"
_SITE = "_numerics_site"


def _visited_attention(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> Any:
    """The attention function the models call: visitor first, then the model's own eager attention."""
    site: Site | None = getattr(module, _SITE, None)
    if site is not None:  # T5's cross-attention shares the function and is not visited
        query, key = site.visit(
            query, key, value, attention_mask, bias=kwargs.get("position_bias"), softcap=kwargs.get("softcap")
        )
    eager = sys.modules[type(module).__module__].__dict__["eager_attention_forward"]
    return eager(module, query, key, value, attention_mask, **kwargs)


AttentionInterface.register(IMPLEMENTATION, _visited_attention)
# Without a mask function of the same name the models would build no mask at all, and attend to the future.
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)


def _wrap_bloom(module: Any, site: Site) -> None:
    split, forward = module._reshape, module.forward
    terms: dict[str, Tensor] = {}

    def kept_forward(
        _: Any, hidden_states: Tensor, residual: Tensor, alibi: Tensor, attention_mask: Tensor, **kwargs: Any
    ) -> Any:
        terms.update(alibi=alibi, mask=attention_mask)
        return forward(hidden_states, residual, alibi, attention_mask, **kwargs)

    def visited_split(_: Any, fused: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = split(fused)
        bias = terms["alibi"].view(q.shape[0], module.num_heads, 1, -1) * module.beta
        return *site.visit(q, k, v, terms["mask"], bias=bias), v

    module.forward = MethodType(kept_forward, module)
    module._reshape = MethodType(visited_split, module)


def _wrap_gpt_neo(module: Any, site: Site) -> None:
    attend = module._attn

    def visited_attend(_: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> Any:
        allowed = module.bias[:, :, key.shape[-2] - query.shape[-2] : key.shape[-2], : key.shape[-2]]
        if attention_mask is not None:
            allowed = allowed & (attention_mask > torch.finfo(attention_mask.dtype).min / 2)
        query, key = site.visit(query, key, value, allowed)
        return attend(query, key, value, attention_mask)

    module._attn = MethodType(visited_attend, module)


def _wrap_mpt(module: Any, site: Site) -> None:
    def forward(
        self: Any,
        hidden_states: Tensor,
        position_bias: Tensor,
        cache: None = None,
        attention_mask: Tensor | None = None,
        **_: Any,
    ) -> tuple[Tensor, Tensor]:
        batch, length = hidden_states.shape[:2]
        shape = (batch, length, self.n_heads, self.head_dim)
        q, k, v = (part.reshape(shape).transpose(1, 2) for part in self.Wqkv(hidden_states).chunk(3, dim=2))
        bias = position_bias[:, max(0, position_bias.size(1) - length) :, max(0, position_bias.size(2) - length) :]
        q, k = site.visit(q, k, v, None if attention_mask is None else ~attention_mask, bias=bias[None])
        scores = torch.matmul(q, k.transpose(-1, -2)) * self.softmax_scale + bias
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask, torch.finfo(q.dtype).min)
        pattern = functional.softmax(scores.float(), dim=-1).to(v.dtype)
        context = torch.matmul(pattern, v).permute(0, 2, 1, 3).contiguous().view(batch, length, -1)
        return self.out_proj(context), pattern

    module.forward = MethodType(forward, module)


def _wrap_falcon(module: Any, site: Site) -> None:
    rotate = sys.modules[type(module).__module__].__dict__["apply_rotary_pos_emb"]

    def forward(
        self: Any,
        hidden_states: Tensor,
        alibi: Tensor | None,
        attention_mask: Tensor,
        position_embeddings: tuple[Tensor, Tensor] | None = None,
        **_: Any,
    ) -> tuple[Tensor, Tensor]:
        q, k, v = (part.transpose(1, 2) for part in self._split_heads(self.query_key_value(hidden_states)))
        batch, heads, length, _n = q.shape
        q, k, v = q.reshape(q.shape), k.reshape(k.shape), v.reshape(v.shape)
        if alibi is None:
            assert position_embeddings is not None
            q, k = rotate(q, k, *position_embeddings)
            q, k = site.visit(q, k, v, attention_mask)
            scores = q @ k.transpose(-1, -2)
            scores /= math.sqrt(self.head_dim)
        else:
            # The mask that the model hands its layers holds the scaled ALiBi bias already.
            q, k = site.visit(q, k, v, attention_mask, bias=alibi.view(batch, heads, 1, -1) * self.inv_norm_factor)
            scores = q @ k.transpose(-1, -2) * self.inv_norm_factor
        pattern = functional.softmax(scores + attention_mask, dim=-1, dtype=hidden_states.dtype)
        context = (pattern @ v).permute(0, 2, 1, 3).reshape(batch, length, heads * self.head_dim)
        return self.dense(context), pattern

    module.forward = MethodType(forward, module)


def _wrap_mpnet(module: Any, site: Site) -> None:
    def forward(
        self: Any,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_bias: Tensor | None = None,
        output_attentions: bool = False,
        **_: Any,
    ) -> tuple[Tensor, ...]:
        shape = (*hidden_states.shape[:-1], -1, self.attention_head_size)
        q, k, v = (part(hidden_states).view(shape).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = site.visit(q, k, v, attention_mask, bias=position_bias)
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores / math.sqrt(self.attention_head_size)
        if position_bias is not None:
            scores += position_bias
        if attention_mask is not None:
            scores = scores + attention_mask
        pattern = functional.softmax(scores, dim=-1)
        context = torch.matmul(pattern, v).permute(0, 2, 1, 3).contiguous()
        output = self.o(context.view(*hidden_states.shape[:-1], self.all_head_size))
        return (output, pattern) if output_attentions else (output,)

    module.forward = MethodType(forward, module)


_WRAPPED: dict[str, tuple[Callable[[Any, Site], None], tuple[str, ...]]] = {
    "bloom": (_wrap_bloom, ("forward", "_reshape")),
    "gpt_neo": (_wrap_gpt_neo, ("_attn",)),
    "mpt": (_wrap_mpt, ("forward",)),
    "falcon": (_wrap_falcon, ("forward",)),
    "mpnet": (_wrap_mpnet, ("forward",)),
}
"""By `model_type`: how a module is wrapped, and the instance attributes that doing so leaves on it."""


@contextmanager
def sites_installed(model: torch.nn.Module, model_type: str, modules: dict[str, Site], name: str) -> Iterator[None]:
    """Bring each `Site` to its attention module (by dotted name below the base model) until the block is left."""
    handles, wrapped = [], _WRAPPED.get(model_type)
    touched: list[Any] = []
    previous = model.config._attn_implementation  # type: ignore[union-attr]
    try:
        for path, site in modules.items():
            try:
                module: Any = model.base_model.get_submodule(path)  # type: ignore[union-attr]
            except AttributeError:
                raise UnreachableAttention(
                    f"{name}: the running model has no attention module {path}",
                    "use the transformers version that the project's constraints pin",
                ) from None
            touched.append(module)
            setattr(module, _SITE, site)
            handles.append(module.register_forward_pre_hook(site.before_forward, with_kwargs=True))
            if wrapped is not None:
                wrapped[0](module, site)
        if wrapped is None:
            model.set_attn_implementation(IMPLEMENTATION)  # type: ignore[operator]
        yield
    finally:
        for handle in handles:
            handle.remove()
        for module in touched:
            delattr(module, _SITE)
            for attribute in wrapped[1] if wrapped else ():
                module.__dict__.pop(attribute, None)
        if wrapped is None:
            model.set_attn_implementation(previous)  # type: ignore[operator]
