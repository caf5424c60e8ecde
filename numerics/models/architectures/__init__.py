"""The architectures whose layout is known and tested, by `model_type`. Everything else is refused."""

from __future__ import annotations

from typing import Any

from numerics.errors import UnsupportedArchitecture
from numerics.models.architectures import alibi, encoders, gpt, llama
from numerics.models.architectures.base import Architecture, Weights, registry

ARCHITECTURES: dict[str, type[Architecture]] = registry(
    [
        gpt.GPT2,
        gpt.OPT,
        gpt.GPTNeo,
        gpt.GPTJ,
        gpt.GPTNeoX,
        gpt.CodeGen,
        alibi.Bloom,
        alibi.MPT,
        alibi.Falcon,
        llama.Llama,
        llama.Mistral,
        llama.Qwen2,
        llama.Qwen3,
        llama.Gemma,
        llama.Gemma2,
        llama.Gemma3,
        llama.Phi,
        llama.Phi3,
        llama.Cohere,
        llama.Olmo2,
        llama.StableLM,
        llama.Starcoder2,
        encoders.Bert,
        encoders.Roberta,
        encoders.DistilBert,
        encoders.MPNet,
        encoders.T5,
    ]
)


def architecture(config: Any, weights: Weights, name: str) -> Architecture:
    """The reader for a config's `model_type`, or `UnsupportedArchitecture` naming those that are known."""
    cls = ARCHITECTURES.get(config.model_type)
    if cls is None:
        raise UnsupportedArchitecture(
            f"{name}: architecture {config.model_type!r} is not supported",
            f"use one of {', '.join(sorted(ARCHITECTURES))}",
        )
    return cls(config, weights, name)


__all__ = ["ARCHITECTURES", "Architecture", "architecture"]
