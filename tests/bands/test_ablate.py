"""Bands taken out of a model: that and nothing else, ranked on one text, judged on another, resumable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

from numerics import Model, load_model, results
from numerics.bands import measure as bands_measure
from numerics.bands.ablation import measure
from numerics.bands.ablation.measure import _losses, ablate
from numerics.bands.ablation.select import count_removed, lowest
from numerics.bands.importance import METRICS, fit, importance, random_importance
from numerics.bands.measure import band_metrics, unembedding_of
from numerics.errors import InvalidArgument
from numerics.models.visitor import AttentionCall
from tests.bands.rotary import ROTARY
from tests.models.tiny import V
from tests.positional.walked import save_text, save_walkable

Load = Callable[[str], Model]
ARGUMENTS: dict[str, Any] = {
    "fractions": (0.0, 0.3, 1.0),
    "select": ("global", "head"),
    "seeds": 2,
    "tokens": 32,
    "length": 16,
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[Path]]:
    folder = tmp_path_factory.mktemp("texts")
    files = [save_text(folder / f"{seed}.txt", 20, seed=seed) for seed in range(4)]
    return files[:2], files[2:]


@pytest.fixture(scope="module")
def swept(walkable: Load, texts: tuple[list[Path], list[Path]]) -> xr.Dataset:
    return ablate(walkable("llama"), *texts, **ARGUMENTS)


def documents(seed: int = 3) -> list[torch.Tensor]:
    return list(torch.randint(5, V, (2, 14), generator=torch.Generator().manual_seed(seed)))


def plain_nll(model: Model, ids: torch.Tensor) -> float:
    """From the model's whole logits."""
    with torch.no_grad():
        logits = model.forward(ids[None])[0, :-1].double()
    return float(torch.nn.functional.cross_entropy(logits, ids[1:]))


# -- what an ablation is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ROTARY)
def test_nothing_removed_is_the_model_bit_for_bit(case: str, walkable: Load) -> None:
    model, texts = walkable(case), documents()
    bands = max(model.positions.rotary(layer).n_bands for layer in range(model.n_layers))  # type: ignore[union-attr]
    none = np.zeros((model.n_layers, model.n_heads, bands), dtype=bool)
    unembedding = unembedding_of(model)
    plain = _losses(model, unembedding, texts, None)
    assert _losses(model, unembedding, texts, none) == plain
    allowed = 4e-6 if case == "codegen" else 1e-12  # CodeGen casts its logits to float32
    np.testing.assert_allclose(plain, [plain_nll(model, ids) for ids in texts], rtol=0, atol=allowed)
    assert max(np.abs(np.subtract(_losses(model, unembedding, texts, ~none), plain))) > 1e-4


@pytest.mark.parametrize(
    "case", ["llama-7-groups", "llama-wide-heads-bias", "gemma2", "cohere", "gptj", "phi", "mistral"]
)
def test_removing_bands_is_zeroing_rows_of_the_query_projection(case: str, tmp_path: Path) -> None:
    """Both layouts, biases, softcap, windows, grouped keys; where no norm stands between projection and rotation."""
    model = load_model(str(save_walkable(case, tmp_path / case)), dtype="float64")
    arch, texts = model._architecture, documents()
    rng, removed = np.random.default_rng(0), []
    for layer in range(model.n_layers):
        table = model.positions.rotary(layer)
        assert table is not None
        removed.append(rng.random((model.n_heads, table.n_bands)) < 0.5)
    found = _losses(model, unembedding_of(model), texts, np.stack(removed))
    before = [plain_nll(model, ids) for ids in texts]
    for layer, out in enumerate(removed):
        table = model.positions.rotary(layer)
        assert table is not None
        dims = np.zeros((model.n_heads, model.head_dim), dtype=bool)
        for part in table.pairs(dims):  # views of both dims of every band
            part[...] = out
        projection = model._module.base_model.get_submodule(arch.block_name(layer) + arch.projections.q)
        with torch.no_grad():
            projection.weight[torch.as_tensor(dims.ravel())] = 0
            if projection.bias is not None:
                projection.bias[torch.as_tensor(dims.ravel())] = 0
    after = [plain_nll(model, ids) for ids in texts]
    assert np.abs(np.subtract(after, before)).max() > 1e-3
    # Float32 angles are the same in both; what differs is a zero computed and a zero set.
    np.testing.assert_allclose(found, after, rtol=0, atol=1e-12)


def test_without_any_band_a_head_attends_evenly(walkable: Load) -> None:
    model, (ids, _) = walkable("llama"), documents()
    everything = np.ones((2, 4, 8), dtype=bool)
    found = _losses(model, unembedding_of(model), [ids], everything)

    def no_query(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.zeros_like(call.q), call.k

    with model.attention(no_query):
        assert found == pytest.approx([plain_nll(model, ids)], abs=1e-12)


# -- the sweep --------------------------------------------------------------------------------------------------------


def test_the_sweep_ranks_on_one_text_and_reads_the_other(
    swept: xr.Dataset, walkable: Load, texts: tuple[list[Path], list[Path]]
) -> None:
    model = walkable("llama")
    assert swept["nll"].dims == ("metric", "select", "fraction", "seed")
    assert swept["metric"].values.tolist() == list(METRICS)
    assert (swept.attrs["rank_documents"], swept.attrs["documents"]) == (2, 2)
    assert swept.attrs["rank_text"] == "0.txt, 1.txt"
    assert swept.attrs["text"] == "2.txt, 3.txt"
    ranked = band_metrics(model, texts[0], tokens=32, length=16, metrics=("activation", "entropy", "fisher"))
    read = [torch.tensor(model.vocabulary.tokenizer(text.read_text())["input_ids"][:16]) for text in texts[1]]
    for metric in METRICS:
        if metric == "random":
            assert swept["importance"].sel(metric=metric).isnull().all()
            ranks = random_importance(ranked["activation"].values, 1)
        else:
            ranks = importance(metric, ranked[metric.removesuffix("-signed")].values)
            np.testing.assert_array_equal(swept["importance"].sel(metric=metric), ranks)
        for select in ("global", "head"):
            removed = lowest(ranks, 0.3, select)
            assert int(swept["removed"].sel(select=select, fraction=0.3)) == removed.sum()
            expected = _losses(model, unembedding_of(model), read, removed)
            at = swept.sel(metric=metric, select=select, fraction=0.3, seed=1 if metric == "random" else 0)
            np.testing.assert_array_equal(at["nll_document"], expected)
            assert float(at["nll"]) == pytest.approx(np.mean(expected), rel=1e-15)
            increase = np.subtract(expected, [plain_nll(model, ids) for ids in read])
            error = np.std(increase, ddof=1) / np.sqrt(2)
            assert float(at["increase_standard_error"]) == pytest.approx(error, abs=1e-12)
    assert swept["removed"].sel(select="head").values.tolist() == [0, 2 * 4 * count_removed(8, 0.3), 64]
    plain = np.mean([plain_nll(model, ids) for ids in read])
    none, everything = swept["nll"].sel(fraction=0.0), swept["nll"].sel(fraction=1.0)
    np.testing.assert_allclose(none.values[none.notnull()], plain, rtol=0, atol=1e-12)
    assert len(np.unique(everything.values[everything.notnull()])) == 1
    measured = swept["nll"].sel(metric=["activation", "entropy", "entropy-signed", "fisher"])
    assert measured.sel(seed=0).notnull().all()
    assert measured.sel(seed=1).isnull().all()
    assert swept["nll"].sel(metric="random").notnull().all()
    expected = fit(*(importance(metric, ranked[metric].values) for metric in ("activation", "entropy")))
    assert [float(swept[name]) for name in ("r_squared", "r_squared_log", "log_dropped")] == list(expected)


def test_the_signed_ranking_removes_first_what_opposes_the_head(
    walkable: Load, texts: tuple[list[Path], list[Path]]
) -> None:
    """Texts of four tokens: over few queries some bands flatten the attention by chance."""
    model = walkable("llama")
    h = band_metrics(model, texts[0], tokens=4, length=4)["entropy"].values
    assert 0.02 < (h > 0).mean() < 0.5
    fraction = float((h > 0).mean())  # as many as oppose
    table = ablate(model, *texts, metrics=("entropy-signed",), fractions=(fraction,), tokens=4, length=4)
    read = torch.tensor(model.vocabulary.tokenizer(texts[1][0].read_text())["input_ids"][:4])
    expected = _losses(model, unembedding_of(model), [read], h > 0)
    assert table["nll_document"].values.ravel().tolist() == expected
    assert table["increase_standard_error"].isnull().all()


def test_the_table_of_a_sweep_has_a_row_per_point(swept: xr.Dataset, tmp_path: Path) -> None:
    rows = results.to_table(swept)
    assert list(rows.columns) == [
        *("model", "metric", "select", "fraction", "seed", "nll", "increase_standard_error"),
    ]
    assert len(rows) == 2 * 3 * (4 + 2)
    assert rows["nll"].notna().all()
    results.save(swept, tmp_path / "sweep.nc")
    assert results.load(tmp_path / "sweep.nc").identical(swept)


def test_one_ranking_alone_measures_no_more_than_it_needs(
    walkable: Load, texts: tuple[list[Path], list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bands_measure, "entropy_attribution", lambda *_, **__: pytest.fail("not asked for"))
    table = ablate(walkable("llama"), *texts, **ARGUMENTS | {"metrics": ("random", "activation")})
    assert table["r_squared"].isnull()
    monkeypatch.setattr(bands_measure, "total_activation", lambda *_, **__: pytest.fail("not asked for"))
    alone = ablate(walkable("llama"), *texts, **ARGUMENTS | {"metrics": ("random",)})
    np.testing.assert_array_equal(alone["nll"].sel(metric="random"), table["nll"].sel(metric="random"))


# -- interrupted ------------------------------------------------------------------------------------------------------


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("after", [0, 1, 2, 3, 9, 20])
def test_a_run_taken_up_again_gives_the_same_bytes_and_does_nothing_twice(
    after: int,
    swept: xr.Dataset,
    walkable: Load,
    texts: tuple[list[Path], list[Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, unfinished = walkable("llama"), tmp_path / "sweep.nc.unfinished"
    work: list[str] = []

    def counted(name: str, owner: Any, attribute: str) -> None:
        original = getattr(owner, attribute)

        def count(*arguments: Any) -> Any:
            work.append(name)
            return original(*arguments)

        monkeypatch.setattr(owner, attribute, count)

    counted("read", measure, "_losses")
    counted("rank", bands_measure.BandSums, "add")

    def stop(done: int, total: int) -> None:
        if done == after:
            raise Interrupted

    with pytest.raises(Interrupted):
        ablate(model, *texts, **ARGUMENTS, unfinished=unfinished, progress=stop)
    told: list[tuple[int, int]] = []
    table = ablate(model, *texts, **ARGUMENTS, unfinished=unfinished, progress=lambda *at: told.append(at))
    results.save(table, tmp_path / "resumed.nc")
    results.save(swept, tmp_path / "whole.nc")
    assert (tmp_path / "resumed.nc").read_bytes() == (tmp_path / "whole.nc").read_bytes()
    # Two documents ranked; the plain model and 2 × 2 fractions × (4 + 2 seeds) points read.
    assert (work.count("rank"), work.count("read")) == (2, 1 + 2 * 2 * 6)
    assert told[-1] == (2 + 1 + 36, 2 + 1 + 36)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_another_run_does_not_take_up_what_is_not_its_own(
    walkable: Load, texts: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    def stop(done: int, total: int) -> None:
        if done == 4:
            raise Interrupted

    unfinished = tmp_path / "x.unfinished"
    with pytest.raises(Interrupted):
        ablate(walkable("llama"), *texts, **ARGUMENTS, unfinished=unfinished, progress=stop)
    before = unfinished.read_bytes()
    for words, changed in (
        ("seeds", {"seeds": 3}),
        ("length", {"length": 8}),
        ("tokens", {"tokens": 16}),
        ("fractions", {"fractions": (0.0, 0.5)}),
        ("metrics, select", {"metrics": ("random",), "select": ("head",)}),
    ):
        with pytest.raises(InvalidArgument, match=f"another {words};"):
            ablate(walkable("llama"), *texts, **ARGUMENTS | changed, unfinished=unfinished)
    with pytest.raises(InvalidArgument, match="another rank_text, rank_text_sha256, text, text_sha256;"):
        ablate(walkable("llama"), *texts[::-1], **ARGUMENTS, unfinished=unfinished)
    with pytest.raises(InvalidArgument, match="sha256"):
        ablate(walkable("qwen3"), *texts, **ARGUMENTS, unfinished=unfinished)
    assert unfinished.read_bytes() == before


# -- what is refused --------------------------------------------------------------------------------------------------


class TestBadInput:
    @pytest.mark.parametrize(
        ("words", "changed"),
        [
            ("metrics attention are not known; use activation", {"metrics": ("activation", "attention")}),
            (r"metrics \(none\)", {"metrics": ()}),
            ("selections layer are not known; use global, head", {"select": ("layer",)}),
            (r"fractions \[1.5\] of the bands", {"fractions": (0.5, 1.5)}),
            (r"fractions \(none\)", {"fractions": ()}),
            ("0 seeds", {"seeds": 0}),
            ("do not hold one document", {"tokens": 8}),
        ],
    )
    def test_arguments(
        self, words: str, changed: dict[str, Any], walkable: Load, texts: tuple[list[Path], list[Path]]
    ) -> None:
        with pytest.raises(InvalidArgument, match=words):
            ablate(walkable("llama"), *texts, **ARGUMENTS | changed)

    def test_a_text_on_both_sides_is_refused_by_content(
        self, walkable: Load, texts: tuple[list[Path], list[Path]], tmp_path: Path
    ) -> None:
        copy = tmp_path / "copy.txt"
        copy.write_bytes(texts[0][1].read_bytes())
        with pytest.raises(InvalidArgument, match=r"1.txt ranks the bands and .*copy.txt of the same content"):
            ablate(walkable("llama"), texts[0], [*texts[1], copy], **ARGUMENTS)

    def test_a_model_without_rotary_positions(self, walkable: Load, texts: tuple[list[Path], list[Path]]) -> None:
        with pytest.raises(InvalidArgument, match=r"bloom is not rotary in every layer \(its positions: alibi\)"):
            ablate(walkable("bloom"), *texts, **ARGUMENTS)
