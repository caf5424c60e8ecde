"""Parts of one text that never overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from numerics.errors import InvalidArgument
from numerics.text.chunking import Chunks, Ints


def split(stream: Chunks, counts: Sequence[int]) -> tuple[Iterator[Ints], ...]:
    """Consecutive parts of `counts` chunks each, e.g. to estimate on one and query with the next: no token in two.

    The parts are lazy and read one stream, so each has to be used up before the next is begun (else InvalidArgument).
    Raises InvalidArgument where the text ends too early.
    """
    if any(count < 1 for count in counts):
        raise InvalidArgument(f"a text is to be split into parts of {list(counts)} chunks", "ask for one or more each")
    begins = [sum(counts[:part]) for part in range(len(counts))]
    before = stream.delivered
    return tuple(
        _part(stream, before + begin, count, before + sum(counts)) for begin, count in zip(begins, counts, strict=True)
    )


def _part(stream: Chunks, begin: int, count: int, needed: int) -> Iterator[Ints]:
    for place in range(begin, begin + count):
        if stream.delivered != place:
            raise InvalidArgument(
                "a part of a split text is read before the one ahead of it is used up, or out of turn",
                "go through the parts one after the other",
            )
        chunk = next(stream, None)
        if chunk is None:
            raise InvalidArgument(
                f"{stream.name} holds {stream.delivered} chunks of {stream.length} tokens, {needed} are needed",
                "give more text, or ask for fewer samples or a smaller length",
            )
        yield chunk
