"""Tokenizers that put nothing, a BOS, or BERT's pair around a text, over bytes: any text survives a round trip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

TEMPLATES = {"none": "$A", "bos": "<s> $A", "bert": "<s> $A </s>", "end": "$A </s>", "two": "<s> </s> $A"}


@pytest.fixture(scope="session")
def tokenizer() -> Callable[[str], Any]:
    """`tokenizer(kind)`: one token per byte, ids from 2; `<s>` is 0 and `</s>` is 1."""

    def make(kind: str) -> Any:
        alphabet = sorted(ByteLevel.alphabet())
        vocabulary = {"<s>": 0, "</s>": 1} | {letter: place + 2 for place, letter in enumerate(alphabet)}
        plain = Tokenizer(BPE(vocabulary, []))
        plain.pre_tokenizer = ByteLevel(add_prefix_space=False)
        plain.decoder = ByteDecoder()
        plain.post_processor = TemplateProcessing(single=TEMPLATES[kind], special_tokens=[("<s>", 0), ("</s>", 1)])
        return PreTrainedTokenizerFast(tokenizer_object=plain, bos_token="<s>", eos_token="</s>", model_max_length=8)

    return make
