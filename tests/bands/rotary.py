"""Which tiny models are rotary."""

from __future__ import annotations

from tests.models.tiny import TINY

OTHERS = ("gpt2", "opt", "gpt_neo", "bloom", "mpt", "falcon-alibi", "bert", "roberta", "distilbert", "mpnet", "t5")
ROTARY = tuple(
    case for case in sorted(TINY) if not any(case == other or case.startswith(f"{other}-") for other in OTHERS)
)
