"""Tiny models with a tokenizer of their own, and a text for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.models.tiny import V, save_tiny


def save_tokenizer(folder: Path, vocabulary: int = V) -> None:
    """One token per word `w5`, `w6`, …; ids 0 to 4 are special and never added."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<bos>", "<eos>", "<unk>", "<mask>"]
    words = special + [f"w{number}" for number in range(len(special), vocabulary)]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped: Any = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", unk_token="<unk>"
    )
    wrapped.save_pretrained(folder)


def save_walkable(case: str, folder: Path) -> Path:
    save_tiny(case, folder)
    save_tokenizer(folder)
    return folder


def save_text(file: Path, words: int, vocabulary: int = V, seed: int = 0) -> Path:
    """`words` random words, independent and equally likely."""
    numbers = np.random.default_rng(seed).integers(5, vocabulary, words)
    file.write_text(" ".join(f"w{number}" for number in numbers))
    return file
