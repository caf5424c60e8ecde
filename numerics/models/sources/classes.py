"""Which transformers class a `model_type` is built with, and the name its base model has inside that class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ModelClass:
    """`auto`: the transformers auto class; `prefix`: the base model's attribute in the classes with a head on top."""

    auto: Literal["AutoModelForCausalLM", "AutoModel", "T5ForConditionalGeneration"]
    prefix: str


def _decoder(prefix: str) -> ModelClass:
    return ModelClass("AutoModelForCausalLM", prefix)


MODEL_CLASSES: dict[str, ModelClass] = {
    "gpt2": _decoder("transformer"),
    "opt": _decoder("model"),
    "gpt_neo": _decoder("transformer"),
    "gptj": _decoder("transformer"),
    "gpt_neox": _decoder("gpt_neox"),
    "codegen": _decoder("transformer"),
    "bloom": _decoder("transformer"),
    "mpt": _decoder("transformer"),
    "falcon": _decoder("transformer"),
    "llama": _decoder("model"),
    "mistral": _decoder("model"),
    "qwen2": _decoder("model"),
    "qwen3": _decoder("model"),
    "gemma": _decoder("model"),
    "gemma2": _decoder("model"),
    "gemma3_text": _decoder("model"),
    "phi": _decoder("model"),
    "phi3": _decoder("model"),
    "cohere": _decoder("model"),
    "olmo2": _decoder("model"),
    "stablelm": _decoder("model"),
    "starcoder2": _decoder("model"),
    "bert": ModelClass("AutoModel", "bert"),
    "roberta": ModelClass("AutoModel", "roberta"),
    "distilbert": ModelClass("AutoModel", "distilbert"),
    "mpnet": ModelClass("AutoModel", "mpnet"),
    "t5": ModelClass("T5ForConditionalGeneration", ""),
}


def parameter_prefix(model_type: str) -> str:
    """What stands before the names of the base model's parameters in the class that is built."""
    model_class = MODEL_CLASSES[model_type]
    return f"{model_class.prefix}." if model_class.auto == "AutoModelForCausalLM" else ""


# Endings of parameter names in old BERT checkpoints, and what they are called now.
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


# Of a model that also sees pictures (Gemma 3 above 1B) the language part is read: what stands before its names.
TEXT_PART = {
    "language_model.model.": "model.",
    "language_model.lm_head.": "lm_head.",
    "model.language_model.": "model.",
}


def text_part(stored: list[str]) -> dict[str, str]:
    """Names of a checkpoint's language part as a text model alone would have them; empty for a plain text model."""
    parts = {
        name: new + name.removeprefix(old) for name in stored for old, new in TEXT_PART.items() if name.startswith(old)
    }
    # The head lies beside `model.language_model` in checkpoints that transformers itself names.
    return parts | {name: name for name in stored if parts and name.startswith("lm_head.")}


def canonical_names(stored: list[str], model_class: ModelClass) -> dict[str, str]:
    """Map each stored tensor name to the parameter name in the class that `Source.build` returns.

    Checkpoints of one model are stored from several classes: a base model lacks the prefix (`h.0.attn…` of the hub's
    gpt2), a masked-language model has it (`bert.encoder…`). Some names are old (`OLD_NAMES`).
    GPT-NeoX's output head stays `embed_out`, as every checkpoint calls it; only transformers' class says `lm_head`.
    A prefix is added only where no stored name bears it, and only to names that are not an output head's.
    """
    prefix = f"{model_class.prefix}."
    bare = not any(name.startswith(prefix) for name in stored)
    canonical: dict[str, str] = {}
    for name in stored:
        new = name
        if model_class.auto == "AutoModelForCausalLM" and bare and not name.startswith(("lm_head.", "embed_out.")):
            new = prefix + name
        elif model_class.auto == "AutoModel":
            new = name.removeprefix(prefix)
        for old, current in OLD_NAMES.items():
            new = new.removesuffix(old) + current if new.endswith(old) else new
        canonical[name] = new
    return canonical
