"""Two real models whole: Gemma 3 270M and all-MiniLM-L6-v2, as PyPI packages carry them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from numerics import Model, load_model, profile
from numerics.forms.reference import extras_by_definition, full_form, profile_by_definition
from numerics.models.sources.packaged import GEMMA_PARTS, _package
from tests.models.rebuild import rebuild
from tests.models.truth import observe

EPS32 = 2.0**-23
TEXT = "The old man looked at the sea, and the sea looked back at the old man as it had every morning of his life."


@pytest.fixture(scope="module")
def gemma() -> Model:
    return load_model("gemma-3-270m", dtype="float32")


@pytest.fixture(scope="module")
def minilm() -> Model:
    return load_model("minilm")


@pytest.fixture(scope="module")
def gemma_profile(gemma: Model) -> xr.Dataset:
    return profile(gemma, distances=(0, 7))


@pytest.fixture(scope="module")
def minilm_profile(minilm: Model) -> xr.Dataset:
    return profile(minilm)


def every_head_is_there(dataset: xr.Dataset, layers: int, heads: int) -> None:
    shares = dataset["profile"]
    assert (shares.sizes["layer"], shares.sizes["head"]) == (layers, heads)
    assert bool((shares >= 0).all())  # also refuses NaN
    np.testing.assert_allclose(shares.sum("coordinate"), 1.0, rtol=0, atol=1e-12)
    assert dataset.attrs["zero_heads"] == 0


def test_every_head_of_gemma(gemma_profile: xr.Dataset, gemma: Model) -> None:
    every_head_is_there(gemma_profile, 18, 4)
    # Figures of the whole model, found first with another program on the same weights.
    assert float(gemma_profile["profile"].sel(distance=0, coordinate="a").mean()) == pytest.approx(0.48, abs=0.01)
    folded = profile(gemma, form="folded")
    assert float(folded["profile"].sel(distance=0, coordinate="a").mean()) == pytest.approx(0.40, abs=0.01)


def test_every_head_of_minilm(minilm_profile: xr.Dataset) -> None:
    every_head_is_there(minilm_profile, 6, 12)
    assert minilm_profile.attrs["positions"] == "learned absolute"


@pytest.mark.parametrize("layer", [0, 5, 17])
@pytest.mark.parametrize("distance", [0, 7])
def test_gemma_heads_against_the_whole_matrix(
    layer: int, distance: int, gemma: Model, gemma_profile: xr.Dataset
) -> None:
    """640 × 640 forms with the gains of the QK-norm, rotated by a table of their own layer."""
    heads, table = gemma.heads(layer), gemma.positions.rotary(layer)
    assert heads.q_norm is not None
    assert heads.k_norm is not None
    assert table is not None
    for head in range(heads.n_heads):
        W_Q = heads.q_norm.gain[head][:, None] * heads.W_Q[head]
        W_K = heads.k_norm.gain[heads.kv_head(head)][:, None] * heads.W_K[heads.kv_head(head)]
        L = full_form(W_K, W_Q, lambda x: table.rotate(x, distance))
        found = gemma_profile.sel(layer=layer, head=head, distance=distance)
        np.testing.assert_allclose(found["profile"], profile_by_definition(L), rtol=0, atol=1e-10)
        for name, value in extras_by_definition(L).items():
            assert float(found[name]) == pytest.approx(value, rel=1e-8), name


def test_minilm_heads_against_the_whole_matrix(minilm: Model, minilm_profile: xr.Dataset) -> None:
    for layer in range(minilm.n_layers):
        heads = minilm.heads(layer)
        for head in range(heads.n_heads):
            L = full_form(heads.W_K[head], heads.W_Q[head])
            found = minilm_profile.sel(layer=layer, head=head, distance=0)
            np.testing.assert_allclose(found["profile"], profile_by_definition(L), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["gemma", "minilm"])
def test_scores_rebuilt_from_weights_are_the_running_models(name: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(name)
    ids = torch.tensor([model.vocabulary.tokenizer(TEXT)["input_ids"]])
    truth = observe(model, ids, float64=False)
    for layer in range(model.n_layers):
        ours = rebuild(model, layer, truth.x[layer], None)
        seen = np.isfinite(ours.scores)
        assert np.array_equal(seen, truth.scores[layer] > np.finfo(np.float32).min / 2)
        # Everything in float32. A dot product of D ≤ 640 terms is summed in blocks of at least 16, so its rounding errors,
        # of random sign, come to about √(D/16) ≈ 6 eps32/2 of the sum of absolute values, on each of q and k; norms
        # and the product add a few more, and the angles eps32·position.
        allowed = EPS32 * (8 + np.arange(ids.shape[1])[:, None]) * ours.magnitude
        gap = np.abs(np.where(seen, truth.scores[layer], 0) - np.where(seen, ours.scores, 0))
        assert (gap <= allowed).all(), (layer, float((gap / allowed).max()))


def test_visitor_changes_nothing_on_real_models(gemma: Model, minilm: Model) -> None:
    for model in (gemma, minilm):
        ids = torch.tensor([model.vocabulary.tokenizer(TEXT)["input_ids"]])
        layers: list[int] = []
        with torch.no_grad():
            plain = model.forward(ids)
            with model.attention(lambda call, layers=layers: layers.append(call.layer)):
                assert torch.equal(model.forward(ids), plain)
        assert layers == list(range(model.n_layers))


def test_gemma_reads_english(gemma: Model) -> None:
    """The converted weights and tokenizer belong together: a sentence is far likelier than its words in disorder."""

    def loss(text: str) -> float:
        ids = torch.tensor([gemma.vocabulary.tokenizer(text)["input_ids"]])
        with torch.no_grad():
            logits = gemma.forward(ids)
        return float(torch.nn.functional.cross_entropy(logits[0, :-1].float(), ids[0, 1:]))

    words = TEXT.split()
    disorder = " ".join(np.random.default_rng(0).permutation(words))
    assert loss(TEXT) < 4.0 < 6.0 < loss(disorder)
    assert gemma.vocabulary.tokenizer.decode(gemma.vocabulary.tokenizer(TEXT)["input_ids"][1:]) == TEXT


def test_gemma_read_from_its_gguf_file_is_the_same(tmp_path: pytest.TempPathFactory, gemma: Model) -> None:
    whole = tmp_path / "gemma.gguf"  # type: ignore[operator]
    with whole.open("wb") as out:
        for module, part in GEMMA_PARTS:
            out.write((_package(module, "gemma", "gemma") / part).read_bytes())
    direct = load_model(str(whole))
    assert direct.model_type == gemma.model_type
    assert direct.sha256 == gemma.sha256
    for layer in (0, 5, 17):
        ours, theirs = direct.heads(layer), gemma.heads(layer)
        for matrix in ("W_Q", "W_K", "W_V", "W_O"):
            assert np.array_equal(getattr(ours, matrix), getattr(theirs, matrix))
        assert ours.norm is not None
        assert theirs.norm is not None
        assert np.array_equal(ours.norm.gain, theirs.norm.gain)
        assert (ours.window, ours.scale) == (theirs.window, theirs.scale)
        assert direct.positions.rotary(layer).frequencies[1] == gemma.positions.rotary(layer).frequencies[1]  # type: ignore[union-attr]
