"""Gemma 3 270M: its bands add up, and most of what its heads compute with can go."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest
import torch
import xarray as xr

from numerics import Model, load_model
from numerics.bands.ablation.measure import ablate
from numerics.bands.measure import band_metrics
from numerics.bands.split import band_scores
from numerics.models.visitor import AttentionCall
from numerics.text.documents import open_documents

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gemma() -> Model:
    return load_model("gemma-3-270m", dtype="float32")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two kinds of English: the Python manual and the Bible."""
    folder = tmp_path_factory.mktemp("texts")
    manual, bible = folder / "manual.txt", folder / "bible.txt"
    manual.write_text("\n".join(topics[name] for name in sorted(topics)), encoding="utf-8")
    (sample,) = open_documents(None, None)
    bible.write_text(next(islice(sample, 3, None)), encoding="utf-8")
    return manual, bible


@pytest.mark.parametrize("kind", [0, 1])
def test_bands_sum_to_scores_and_entropies(
    kind: int, gemma: Model, texts: tuple[Path, Path], keep: Callable[[xr.Dataset], xr.Dataset]
) -> None:
    """q and k as the model has them, what follows in float64."""
    ids = np.array(gemma.vocabulary.tokenizer(texts[kind].read_text(encoding="utf-8")[:2000])["input_ids"][:160])
    table = keep(band_metrics(gemma, [texts[kind]], tokens=160, length=160))
    changes = np.zeros((gemma.n_layers, gemma.n_heads))

    def check(call: AttentionCall) -> None:
        assert call.rotary is not None
        assert call.mask is not None
        q, k = call.q[0].double(), call.k[0].double()
        scores = (q @ k.transpose(-1, -2) * call.scale).numpy()
        layout = {"n_bands": call.rotary.n_bands, "pairing": call.rotary.pairing}
        for query in range(0, len(ids), 13):
            bands = band_scores(q[:, query, None].numpy(), k.numpy(), scale=call.scale, **layout)  # type: ignore[arg-type]
            assert bands.shape == (gemma.n_heads, len(ids), 128)
            assert np.abs(bands.sum(axis=-1) - scores[:, query]).max() < 1e-10
        seen = call.mask[0, 0].numpy()
        p = torch.softmax(torch.as_tensor(np.where(seen, scores, -np.inf)), dim=-1).numpy()
        entropy = -np.where(seen, p * np.log(np.where(p > 0, p, 1)), 0).sum(axis=-1)
        changes[call.layer] = (entropy - np.log(seen.sum(axis=-1))).sum(axis=-1)

    with torch.no_grad(), gemma.attention(check):
        gemma.forward(torch.as_tensor(ids)[None], logits=False)
    together, residual = table["entropy"].values.sum(axis=-1), table["residual"].values
    assert residual.max() <= 1e-6
    np.testing.assert_allclose(table["entropy_change"].values, changes, rtol=0, atol=1e-9)
    assert (np.abs(together - changes) <= len(ids) * residual + 1e-9).all()


def test_two_fifths_of_the_bands_hardly_matter(gemma: Model, texts: tuple[Path, Path]) -> None:
    """Ranked on one kind of text, judged on another: a small loss by activation, a ruin at random."""
    manual, bible = texts
    table = ablate(
        gemma,
        [manual],
        [bible],
        metrics=("activation", "random"),
        fractions=(0.0, 0.4),
        seeds=1,
        tokens=512,
        length=512,
    )
    nll = table["nll"].sel(select="global", seed=0)
    increase = nll.sel(fraction=0.4) - nll.sel(fraction=0.0)
    by_activation, at_random = (float(increase.sel(metric=metric)) for metric in ("activation", "random"))
    assert 1 < float(nll.sel(metric="activation", fraction=0.0)) < 4 < math.log(262144)
    assert 0 < by_activation < 0.6
    assert at_random > 5 * by_activation
