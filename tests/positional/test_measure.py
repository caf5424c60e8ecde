"""The walk over a model: identities of every architecture's kernels, and what the table holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.stats import binom

from numerics import Model, load_model, positional_kernels, results
from numerics.errors import InvalidArgument
from numerics.models.visitor import AttentionCall
from numerics.positional import embedded, kernel
from numerics.positional.layer import DEVIATIONS, Layer
from numerics.positional.measure import _run, layer_of
from numerics.positional.split import repeat_heads
from tests.models.tiny import TINY, V
from tests.models.truth import InFloat64
from tests.positional.walked import save_text

LENGTH, SKIP = 24, 3
QUERIES = np.array([5, 11, 23])
Load = Callable[[str], Model]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_text(tmp_path_factory.mktemp("text") / "words.txt", 1000)


def estimated(model: Model, texts: int = 6) -> tuple[list[Layer], np.ndarray]:
    """Layers after the first walk over random ids, and the ids of one more text."""
    ids = np.random.default_rng(0).integers(5, V, (texts + 1, LENGTH))
    layers = [layer_of(model, layer, QUERIES, LENGTH, SKIP) for layer in range(model.n_layers)]
    with InFloat64():
        _run(model, ids[:-1], lambda call: layers[call.layer].estimate(call))
    return layers, ids[-1]


@pytest.mark.parametrize("case", sorted(TINY))
def test_softmax_is_kernel_times_content_over_normaliser(case: str, walkable: Load) -> None:
    """`softmax_j(s) = pos_j f_j / Σ pos f` on the model's own scores, in float64 throughout: 1e-10."""
    model = walkable(case)
    layers, ids = estimated(model)

    def check(call: AttentionCall) -> None:
        layer = layers[call.layer]
        q = call.unrotated()[0][0].double().numpy()[:, QUERIES]
        scores = call.scores()[0].double().numpy()[:, QUERIES]
        assert np.array_equal(np.isfinite(scores).any(axis=0), layer.admissible)
        for exponents in layer._exponents(q, call):
            if exponents is None:
                continue
            rows = kernel.positional_kernel(exponents, layer.admissible, SKIP)
            assert np.array_equal(rows > 0, np.broadcast_to(layer.allowed, rows.shape))
            factor = kernel.content_factor(np.where(layer.allowed, scores, 0), np.where(layer.allowed, exponents, 0))
            pattern = call.pattern()[0].double().numpy()[:, QUERIES]
            attention, _ = kernel.condition(pattern, layer.admissible, SKIP)
            np.testing.assert_allclose(kernel.softmax_from_factors(rows, factor), attention, rtol=0, atol=1e-10)

    with InFloat64():
        _run(model, ids[None], check)


def test_the_mean_key_of_a_linear_projection_is_the_key_of_the_mean_embedding(walkable: Load) -> None:
    for case in ("gpt2", "llama", "bert", "t5"):
        layers, _ = estimated(walkable(case))
        for layer in layers:
            heads = layer.heads
            of_mean = np.einsum("gnd,td->gtn", heads.W_K, layer.moments.mean) + heads.b_K[:, None]
            np.testing.assert_allclose(repeat_heads(layer.mean_keys, heads.n_kv_heads), of_mean, rtol=0, atol=1e-10)


@pytest.mark.parametrize("case", ["gpt2", "bloom", "t5", "llama", "gpt_neox", "gemma3", "gemma2", "mpnet", "mistral"])
def test_table_of_a_model(case: str, walkable: Load, text: Path, tmp_path: Path) -> None:
    model = walkable(case)
    table = positional_kernels(model, [text], samples=8, length=LENGTH, skip=SKIP, query_texts=4, queries=QUERIES)
    again = positional_kernels(model, [text], samples=8, length=LENGTH, skip=SKIP, query_texts=4, queries=QUERIES)
    results.save(table, tmp_path / "a.nc")
    results.save(again, tmp_path / "b.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    rows = table["kernel"]
    np.testing.assert_allclose(rows.sum("key"), 1.0, rtol=0, atol=1e-6)
    for layer in range(model.n_layers):
        heads = model.heads(layer)
        seen = kernel.admissible_keys(QUERIES, LENGTH, causal=heads.causal, window=heads.window)
        seen &= np.arange(LENGTH) >= SKIP
        assert not rows.values[layer][:, ~seen].any()
        counts = seen.sum(axis=-1)
        etc = table["etc"].values[layer]
        assert (etc >= 1 - 1e-12).all()
        assert (etc <= counts * (1 + 1e-12)).all()
    for name in ("tv_kernel", "tv_uniform", "equivariance", "consistency", "sink_mass", "key_bias_share"):
        assert bool(((table[name] >= -1e-12) & (table[name] <= 1 + 1e-12)).all()), name
    rotary = "rotary" in model.positions.scheme
    assert table.attrs["kernel_kind"] == ("mean-key" if rotary else "P")
    assert ("tv_kernel_P" in table) == rotary
    assert ("unrotated_share" in table) == (case == "gpt_neox")
    assert ("content_survival" in table) == model.takes_positions
    assert ("tv_first_layer" in table) == (case in ("gpt2", "mpnet"))
    assert ("content_length" in table.attrs) == (case in ("gpt2", "mpnet"))
    texts = table["denominator"]
    assert texts.sizes["text"] == 4
    np.testing.assert_array_equal(texts.mean("text"), table["denominator_mean"])
    np.testing.assert_array_equal(texts.std("text", ddof=1), table["denominator_sd"])
    assert table["gallery_query"].values.tolist() == QUERIES.tolist()
    for place, n in enumerate(QUERIES):
        single = table["kernel_gallery"].sel(gallery_query=n).transpose("gallery_text", "layer", "head", "key")
        np.testing.assert_allclose(single.mean("gallery_text"), rows[:, :, place], rtol=0, atol=1e-6)
    if rotary:
        # Scores see differences of positions only: inputs do not change under a shift, and what does are the means P
        # that are subtracted, each with a noise of s²/N: the loss is 1/(N + 1) for N = 8 texts.
        np.testing.assert_allclose(1 - table["content_survival"], 1 / 9, rtol=0, atol=0.04)


def test_no_positional_share_where_positions_are_relative_and_texts_random(walkable: Load, text: Path) -> None:
    """ALiBi's first layer reads bare token embeddings: all variance is content's, the noise floor subtracted."""
    table = positional_kernels(
        walkable("bloom"), [text], samples=30, length=LENGTH, skip=SKIP, query_texts=4, queries=QUERIES
    )
    # The share of pure noise is 0 ± about √(2/((T − skip)·D))/√N ≈ 0.01; four of them.
    assert abs(float(table["positional_share"][0])) < 0.04
    learned = positional_kernels(
        walkable("gpt2"), [text], samples=30, length=LENGTH, skip=SKIP, query_texts=4, queries=QUERIES
    )
    assert float(learned["positional_share"][0]) > 0.1


@pytest.mark.parametrize("case", ["bloom", "t5"])
def test_contents_of_random_tokens_exceed_no_bound(case: str, walkable: Load, tmp_path: Path) -> None:
    """Input of the first layer is the token alone, and tokens are drawn alike: contents are exchangeable.

    Then both bounds hold for each query given the text's own contents. Drawing them without replacement varies less,
    and for a nearly uniform kernel hardly at all: hence `max` at the end. A share over two queries beyond the bound
    means one query with more exceedances, in independent texts, than the binomial quantile allows.
    """
    texts, queries = 60, [15, 23]
    words = save_text(tmp_path / "words.txt", 100 * LENGTH, seed=3)
    table = positional_kernels(
        walkable(case), [words], samples=10, length=LENGTH, skip=SKIP, query_texts=texts, queries=queries
    ).isel(layer=0)
    for name in ("chebyshev", "hoeffding"):
        bound = table[name].values
        assert (table["exceedance"].values <= binom.ppf(1 - 1e-9, texts, np.minimum(bound, 1)) / texts).all(), name
    assert table["chebyshev"].values == pytest.approx(np.tile([1, 1 / 2.25, 1 / 4, 1 / 9, 1 / 25], (4, 1)))
    assert float(table["exceedance"].sel(deviation=1).max()) > 0.05, "nothing ever exceeds"


def test_bounds_are_those_of_each_text(walkable: Load) -> None:
    """Exceedance and bounds from the definition, key by key, for one query of one layer."""
    model = walkable("gpt2")
    layers, _ = estimated(model)
    layer, factors = layers[1], []
    for seed in range(5):
        ids = np.random.default_rng(100 + seed).integers(5, V, LENGTH)

        def visit(call: AttentionCall, ids: np.ndarray = ids) -> None:
            if call.layer == 1:
                layer.query(call, ids)
                q, scores = call.q[0].double().numpy()[:, QUERIES], call.scores()[0].double().numpy()[:, QUERIES]
                factors.append(np.exp(scores - layer._exponents(q, call)[0]))

        _run(model, ids[None], visit)
    found = layer.results()
    for head in range(model.n_heads):
        beyond, hoeffding = [], []
        for factor, rows in zip(factors, layer.kernels, strict=True):
            for place, n in enumerate(QUERIES):
                f, pos = factor[head, place, SKIP : n + 1], rows[head, place, SKIP : n + 1].astype(np.float64)
                drawn, weight = f[:-1], float(np.sum(pos[:-1] ** 2))
                expected = drawn.mean() * pos[:-1].sum() + pos[-1] * f[-1]
                steps = np.array(DEVIATIONS) * np.sqrt(drawn.var() * weight)
                beyond.append(abs(pos @ f - expected) >= steps)
                hoeffding.append(np.minimum(1, 2 * np.exp(-2 * steps**2 / (np.ptp(drawn) ** 2 * weight))))
        np.testing.assert_array_equal(found["exceedance"][head], np.mean(beyond, axis=0))
        np.testing.assert_allclose(found["hoeffding"][head], np.mean(hoeffding, axis=0), rtol=1e-5)  # float32 kernels


def test_substitution_is_the_denominator_of_a_text_with_the_token_in_it(
    walkable: Load, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put the token into the text itself and run the model: its Z there is the one computed without running."""
    places = np.array([9, 14, 20])
    monkeypatch.setattr(embedded, "SUBSTITUTED", places)
    monkeypatch.setattr(embedded, "SUBSTITUTE", "w7")
    model = walkable("gpt2")
    layers, ids = estimated(model)
    first = layers[0]
    _run(model, ids[None], lambda call: first.query(call, ids) if call.layer == 0 else None)
    assert first.first is not None
    (found,) = first.first.denominators
    for place, n in enumerate(places):
        changed = ids.copy()
        changed[n] = 7
        other = layer_of(model, 0, np.array([n, 23]), LENGTH, SKIP)
        other.moments, other.key_sum, other.key_square, other.seen = (
            first.moments, first.key_sum, first.key_square, first.seen,
        )  # fmt: skip

        def query(call: AttentionCall, other: Layer = other, changed: np.ndarray = changed) -> None:
            if call.layer == 0:
                other.query(call, changed)

        _run(model, changed[None], query)
        np.testing.assert_allclose(found[:, place], other.Z[0][:, 0], rtol=1e-6)


class TestBadInput:
    def refused(self, walkable: Load, text: Path, words: str, **arguments: object) -> None:
        given: dict[str, object] = {"samples": 4, "length": LENGTH, "skip": SKIP, "query_texts": 2} | arguments
        with pytest.raises(InvalidArgument, match=words):
            positional_kernels(walkable("gpt2"), [text], **given)  # type: ignore[arg-type]

    def test_query_inside_the_skipped_prefix(self, walkable: Load, text: Path) -> None:
        self.refused(walkable, text, r"queries at \[3\]", queries=[3, 9])
        self.refused(walkable, text, r"queries at \[24\]", queries=[9, 24])

    def test_positions_beyond_the_models_maximum(self, walkable: Load, text: Path) -> None:
        self.refused(walkable, text, "64 positions, 80 are asked for", length=80)

    def test_text_too_short(self, walkable: Load, text: Path) -> None:
        self.refused(walkable, text, "needed", samples=500)

    def test_too_few_texts_or_too_large_a_skip(self, walkable: Load, text: Path) -> None:
        self.refused(walkable, text, "spread", samples=1)
        self.refused(walkable, text, "no queries", skip=23)

    def test_empty_file(self, walkable: Load, tmp_path: Path) -> None:
        (tmp_path / "empty.txt").write_text("")
        self.refused(walkable, tmp_path / "empty.txt", "empty")


def test_memory_does_not_grow_with_the_samples(walkable: Load, text: Path) -> None:
    """What a layer holds after 3 and after 12 estimation texts has the same size."""

    def held(texts: int) -> int:
        layers, _ = estimated(walkable("llama"), texts)
        arrays = [a for layer in layers for a in (layer.moments.mean, layer.attention, layer.mean_keys)]
        return sum(array.nbytes for array in arrays)

    assert held(3) == held(12)


@pytest.mark.slow
def test_minilm_and_gemma(keep: Callable[[xr.Dataset], xr.Dataset]) -> None:
    minilm = keep(positional_kernels(load_model("minilm"), samples=64, length=256, query_texts=8))
    assert float(minilm["tv_kernel"][0].mean()) < 0.1 < 0.25 < float(minilm["tv_uniform"][0].mean())
    last = minilm["etc"].isel(query=-1)
    assert float(last.min()) < 4 < 150 < float(last.max())
    assert bool((minilm["tv_kernel"] < minilm["tv_uniform"]).mean() > 0.9)
    assert float(minilm["tv_first_layer"].mean()) < 0.05  # what the article finds on GPT-2
    previous = minilm.sel(layer=0, head=2)
    assert (str(previous["category"].values), int(previous["peak_offset"])) == ("local", -1)

    gemma = keep(positional_kernels(load_model("gemma-3-270m", dtype="float32"), samples=16, length=128, query_texts=4))
    assert gemma.attrs["kernel_kind"] == "mean-key"
    assert float(gemma["tv_kernel"].mean()) < 0.8 * float(gemma["tv_uniform"].mean())
    # Rotary inputs carry hardly any position (the first ones, which hold the sink, left out).
    assert float(np.abs(gemma["positional_share"]).max()) < 0.1
    assert float(gemma["sink_mass"].mean()) > 0.2
