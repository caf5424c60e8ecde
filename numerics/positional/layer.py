"""What a walk over texts adds up for one attention layer, and the variables that come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numerics.models.heads import HeadWeights
from numerics.positional import denominators, groups, kernel, shares, spread
from numerics.positional.embedded import Embedded
from numerics.positional.moments import Moments, positional_share
from numerics.positional.split import repeat_heads

if TYPE_CHECKING:
    from numerics.models import RotaryTable
    from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Ints = NDArray[np.int64]

GALLERY = 6
GALLERY_QUERIES = 4
DEVIATIONS = (1.0, 1.5, 2.0, 3.0, 5.0)


@dataclass
class Layer:
    """What is accumulated of one layer: means over the estimation texts, then rows of the query texts.

    `table` turns its queries and keys, None without rotary positions; `first` is there where it is the first layer and
    can be computed from the embeddings.
    """

    heads: HeadWeights
    table: RotaryTable | None
    queries: Ints
    length: int
    skip: int
    first: Embedded | None = None
    seen: int = 0
    moments: Moments = field(init=False)
    kernels: list[NDArray[np.float32]] = field(default_factory=list)
    of_positions: Float | None = None
    etc: list[Float] = field(default_factory=list)
    Z: list[Float] = field(default_factory=list)
    expected_Z: list[Float] = field(default_factory=list)
    hoeffding: list[Float] = field(default_factory=list)
    predicted_variance: list[Float] = field(default_factory=list)
    unrotated: list[Float] = field(default_factory=list)

    def __post_init__(self) -> None:
        heads = self.heads
        self.kind = "P" if self.table is None else "mean-key"
        self.moments = Moments.empty((self.length, heads.width))
        self.attention = np.zeros((heads.n_heads, len(self.queries), self.length))
        self.key_sum: Float | None = None
        self.key_square: Float | None = None
        self.admissible = kernel.admissible_keys(self.queries, self.length, causal=heads.causal, window=heads.window)
        self.allowed: Bool = self.admissible & (np.arange(self.length) >= self.skip)

    def estimate(self, call: AttentionCall) -> None:
        """Add a batch of texts to the means of input, attention and un-rotated key."""
        self.moments.add(call.x.double().numpy())
        pattern = call.pattern()[:, :, self.queries].double().numpy()
        self.attention += pattern.sum(axis=0)
        keys = call.unrotated()[1].double().numpy()
        rotating = keys[:, :, self.skip :, : self.table.rotary_dim if self.table else None]
        if self.key_sum is None or self.key_square is None:
            self.key_sum, self.key_square = np.zeros(keys.shape[1:]), np.zeros(keys.shape[1])
        self.key_sum += keys.sum(axis=0)
        self.key_square += np.square(rotating).sum(axis=-1).mean(axis=-1).sum(axis=0)
        self.seen += len(keys)

    @property
    def mean_keys(self) -> Float:
        """(G, T, n)."""
        assert self.key_sum is not None
        return self.key_sum / self.seen

    @property
    def mean_key(self) -> Float:
        """(G, n), over positions ≥ skip."""
        return np.asarray(self.mean_keys[:, self.skip :].mean(axis=1))

    @property
    def gallery(self) -> Ints:
        """Which of the queries are kept text by text: `GALLERY_QUERIES` evenly spaced ones up to the last."""
        shown = min(GALLERY_QUERIES, len(self.queries))
        return np.round(len(self.queries) * np.arange(1, shown + 1) / shown).astype(np.int64) - 1

    def query(self, call: AttentionCall, ids: Ints) -> None:
        """Kernels, content factors and denominators of the queries of one text."""
        q = call.unrotated()[0][0].double().numpy()[:, self.queries]
        scores = call.scores()[0].double().numpy()[:, self.queries]
        exponents, of_positions = self._exponents(q, call)
        rows = kernel.positional_kernel(exponents, self.admissible, self.skip)
        if of_positions is not None:
            plain = kernel.positional_kernel(of_positions, self.admissible, self.skip)
            self.of_positions = plain if self.of_positions is None else self.of_positions + plain
        known = np.where(self.allowed, scores, 0.0)
        factor = kernel.content_factor(known, np.where(self.allowed, exponents, 0.0))
        others = self.allowed & (np.arange(self.length) != self.queries[:, None])
        mean, variance = denominators.content_moments(factor, others)
        self.kernels.append(rows.astype(np.float32))
        self.etc.append(spread.effective_token_count(rows))
        self.Z.append(denominators.denominator(rows, factor))
        self.expected_Z.append(denominators.predicted_mean(rows, factor, mean, self.queries))
        deviation = denominators.predicted_spread(rows, variance, self.queries)
        self.predicted_variance.append(deviation**2)
        self.hoeffding.append(self._hoeffding(rows, factor, others, deviation))
        if self.table is not None and self.table.rotary_dim < self.heads.head_dim:
            self.unrotated.append(self._unrotated_share(q, call, known))
        if self.first is not None:
            pattern = call.pattern()[0].double().numpy()[:, self.queries]
            self.first.compare(q, ids, self._bias(call), pattern, self.admissible)
            self.first.substitute(call.k[0].double().numpy(), self.mean_keys)

    def _bias(self, call: AttentionCall) -> Float | None:
        """The model's score bias of the queries (H, I, T)."""
        if call.bias is None:
            return None
        bias: Float = call.bias[0].double().numpy()  # (H, 1 or T, T)
        return np.broadcast_to(bias, (self.heads.n_heads, self.length, self.length))[:, self.queries]

    def _exponents(self, q: Float, call: AttentionCall) -> tuple[Float, Float | None]:
        """Exponents (H, I, T) of the kernel, and of the P-kernel where that is another one."""
        common: dict[str, Any] = {
            "query_positions": self.queries,
            "scale": self.heads.scale,
            "rotate": None if self.table is None else self.table.rotate,
            "bias": self._bias(call),
            "softcap": self.heads.softcap,
        }
        by_position = kernel.exponents_of_positions(q, self.mean_keys, **common)
        if self.table is None:
            return by_position, None
        return kernel.exponents_of_mean_key(q, self.mean_key, n_keys=self.length, **common), by_position

    def _unrotated_share(self, q: Float, call: AttentionCall, scores: Float) -> Float:
        assert self.table is not None
        rest = slice(self.table.rotary_dim, None)
        keys = repeat_heads(call.k[0].double().numpy(), len(q))[..., rest]
        part = self.heads.scale * q[..., rest] @ np.swapaxes(keys, -1, -2)
        return shares.unrotated_score_share(part, scores, self.allowed)

    def _hoeffding(self, rows: Float, factor: Float, others: Bool, deviation: Float) -> Float:
        """Hoeffding bounds (H, I, K) at the multiples `DEVIATIONS` of the predicted spread; 0 where that is zero."""
        low, high = (
            extreme(np.where(others, factor, fill), axis=-1) for extreme, fill in ((np.min, np.inf), (np.max, -np.inf))
        )
        weight = denominators.concentration_weight(rows, self.queries)
        steps = np.where(deviation > 0, deviation, 1.0)[..., None] * np.array(DEVIATIONS)
        bound = denominators.hoeffding_bound(steps, low[..., None], high[..., None], weight[..., None])
        return np.where(deviation[..., None] > 0, bound, 0.0)

    def results(self) -> dict[str, Any]:
        """Everything that is reported of the layer, by variable."""
        rows = np.stack(self.kernels).astype(np.float64)
        mean = rows.mean(axis=0)
        mean /= mean.sum(axis=-1, keepdims=True)  # float32 was kept
        attention, sink = kernel.condition(self.attention / self.seen, self.admissible, self.skip)
        etc, Z, expected_Z = np.stack(self.etc), np.stack(self.Z), np.stack(self.expected_Z)
        deviations = np.sqrt(self.predicted_variance)
        chebyshev = np.broadcast_to(denominators.chebyshev_bound(DEVIATIONS, 1.0, 1.0), np.shape(self.hoeffding))
        variation = groups.pairwise_variation(mean)
        predicted = np.sqrt(np.mean(self.predicted_variance, axis=0))
        last_etc = etc.mean(axis=0)[:, -1]
        criteria = {
            "predicted": denominators.is_contextual(last_etc, predicted[:, -1] / Z.mean(axis=0)[:, -1]),
            "measured": denominators.is_contextual(last_etc, denominators.relative_spread(Z)[:, -1]),
        }
        size = int(self.allowed[-1].sum())
        to_kv = np.arange(self.heads.n_heads) * len(self.mean_key) // self.heads.n_heads
        rotating = self.mean_key[:, : self.table.rotary_dim if self.table else None]
        assert self.key_square is not None
        uniform = spread.uniform_kernel(self.allowed)
        found: dict[str, Any] = {
            "kernel": mean.astype(np.float32),
            "kernel_gallery": np.moveaxis(np.stack(self.kernels[:GALLERY])[:, :, self.gallery], 0, 2),
            "etc": etc.mean(axis=0),
            "etc_texts_sd": etc.std(axis=0, ddof=1),
            "category": [spread.category(float(value), size) for value in last_etc],
            "peak_offset": _commonest(spread.peak_offset(mean, self.queries)),
            "equivariance": spread.translation_equivariance(mean, self.queries, self.allowed),
            "consistency": spread.query_consistency(rows),
            "tv_kernel": spread.total_variation(mean, attention).mean(axis=-1),
            "tv_uniform": spread.total_variation(uniform, attention).mean(axis=-1),
            "sink_mass": sink.mean(axis=-1),
            "group": groups.groups(variation),
            "kernel_variation": variation,
            "contextual": _named(criteria),
            "key_bias_share": shares.key_bias_share(rotating, self.key_square / self.seen)[to_kv],
            "denominator": np.moveaxis(Z, 0, -1),
            "exceedance": denominators.exceedance(Z, expected_Z, deviations, DEVIATIONS),
            "chebyshev": denominators.mean_over_rows(chebyshev, deviations > 0),
            "hoeffding": denominators.mean_over_rows(np.stack(self.hoeffding), deviations > 0),
            "denominator_mean": Z.mean(axis=0),
            "denominator_sd": Z.std(axis=0, ddof=1),
            "denominator_sd_predicted": predicted,
            "denominator_decay": denominators.shared_decay(Z, self.queries)[1],
            "positional_share": positional_share(self.moments, self.skip),
            "standard_error": self.moments.standard_error,
        }
        if self.of_positions is not None:
            plain = self.of_positions / len(self.kernels)
            found["tv_kernel_P"] = spread.total_variation(plain, attention).mean(axis=-1)
        if self.unrotated:
            found["unrotated_share"] = np.mean(self.unrotated, axis=0)
        if self.first is not None:
            found["tv_first_layer"] = np.mean(self.first.distances, axis=0)
            if self.first.denominators:
                found["substitution"] = np.stack(self.first.denominators)
        return found


def _named(criteria: dict[str, Bool]) -> list[str]:
    """Per head `both`, the one criterion it meets, or ''."""
    names = np.full(len(criteria["predicted"]), "", dtype="<U9")
    for name, meets in criteria.items():
        names[meets] = np.where(names[meets] == "", name, "both")
    return [str(name) for name in names]


def _commonest(offsets: Ints) -> Ints:
    """The offset (H,) that most queries (H, I) have; of equally many the smallest in size."""
    chosen = []
    for row in offsets:
        values, counts = np.unique(row, return_counts=True)
        best = values[counts == counts.max()]
        chosen.append(int(best[np.argmin(np.abs(best))]))
    return np.array(chosen, dtype=np.int64)
