"""Two walks over text: means over some texts, then every entry at every layer on one more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.ledger.entry import Entry, Site
from checks.ledger.site import SKIP, LayerSite, site_of
from numerics.models import Model
from numerics.models.visitor import AttentionCall
from numerics.text import chunks

Float = NDArray[np.float64]

LENGTH = 96
MEANS_OVER = 12


@dataclass
class Measured:
    """What an entry came to on one model: the worst number, where it was, and the tolerance there."""

    entry: Entry[Any]
    worst: float = np.nan
    layer: int | None = None
    head: int | None = None
    tolerance: float = np.nan
    numbers: int = 0
    typical: list[float] = field(default_factory=list)
    unsuited: list[str] = field(default_factory=list)

    def add(self, site: Site, numbers: Float) -> None:
        """Take in the numbers of one layer; the worst is the one that uses up most of its tolerance."""
        allowed = self.entry.allowed(site)
        there = np.flatnonzero(~np.isnan(numbers))
        self.numbers += len(there)
        if not len(there):
            return
        values = numbers[there]
        place = int(np.argmax(values) if self.entry.kind == "equality" else np.argmin(values))
        self.typical.append(float(np.median(values)) + 0.0)
        value = float(values[place]) + 0.0  # no −0
        if np.isnan(self.worst) or self._used(value, allowed) > self._used(self.worst, self.tolerance):
            self.worst, self.tolerance, self.layer = value, allowed, site.layer
            self.head = int(there[place]) if len(numbers) == site.n_heads else None

    def _used(self, value: float, allowed: float) -> float:
        return value / allowed if self.entry.kind == "equality" else -value / allowed

    @property
    def holds(self) -> bool | None:
        """Whether the worst number is within its tolerance; None where nothing was measured."""
        if np.isnan(self.worst):
            return None
        return self._used(self.worst, self.tolerance) <= 1


def measure(
    model: Model,
    entries: Sequence[Entry[LayerSite]],
    text: Sequence[Path] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Measured]:
    """Every entry at every layer of the model, on the first chunks of the text (default: the shipped sample)."""
    length = min(LENGTH, model.positions.limit or LENGTH)
    texts = list(islice(chunks(model.vocabulary.tokenizer, length=length, files=text), MEANS_OVER + 1))
    found = [Measured(entry) for entry in entries]
    inputs: dict[int, Float] = {}
    keys: dict[int, Float] = {}

    def collect(call: AttentionCall) -> None:
        inputs[call.layer] = inputs.get(call.layer, 0.0) + call.x[0].double().numpy()
        plain = call.unrotated()[1][0].double().numpy()
        keys[call.layer] = keys.get(call.layer, 0.0) + plain[:, SKIP:].mean(axis=1)

    def check(call: AttentionCall) -> None:
        layer = call.layer
        site = site_of(
            call, model.heads(layer), model.positions.rotary(layer),
            inputs[layer] / MEANS_OVER, keys[layer] / MEANS_OVER, model.name,
        )  # fmt: skip
        for measured in found:
            reason = measured.entry.applies(site)
            if reason:
                measured.unsuited.append(reason)
            else:
                measured.add(site, np.asarray(measured.entry.measure(site), dtype=np.float64))
        progress(layer + 1, model.n_layers)

    for ids in texts[:-1]:
        run(model, ids, collect)
    run(model, texts[-1], check)
    return found


def run(model: Model, ids: NDArray[np.int64], visit: Callable[[AttentionCall], None]) -> None:
    import torch

    with torch.no_grad(), model.attention(visit):
        model.forward(torch.as_tensor(ids[None]), logits=False)
