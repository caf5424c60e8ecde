"""Heads by name: `5.1` is head 1 of layer 5, both counted from 0."""

from __future__ import annotations

import re
from collections.abc import Sequence

from numerics.errors import InvalidArgument

Head = tuple[int, int]


def chosen_heads(names: str | Sequence[Head] | None, n_layers: int, n_heads: int) -> tuple[Head, ...]:
    """`"5.1,11.2"` or pairs (layer, head) as pairs, in layer order, each once; empty for None.

    Raises InvalidArgument for a name that is none and for a head that the model lacks.
    """
    if names is None:
        return ()
    heads = [_parsed(name) for name in names.split(",")] if isinstance(names, str) else list(names)
    for layer, head in heads:
        if not (0 <= layer < n_layers and 0 <= head < n_heads):
            raise InvalidArgument(
                f"there is no head {layer}.{head}",
                f"layers are 0 to {n_layers - 1}, heads 0 to {n_heads - 1}, written layer.head",
            )
    return tuple(sorted(set(heads)))


def head_name(head: Head) -> str:
    return f"{head[0]}.{head[1]}"


def _parsed(name: str) -> Head:
    found = re.fullmatch(r"\s*(\d+)\.(\d+)\s*", name)
    if found is None:
        raise InvalidArgument(f"{name!r} names no head", "write layer.head, several with commas: 5.1,11.2")
    return int(found[1]), int(found[2])
