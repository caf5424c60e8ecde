"""The walk over a model: every architecture, against the model's own patterns and matrices written out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

from numerics import Model, load_model, results
from numerics.circuits import head_circuits, measure, tables
from numerics.circuits.folded import factors_of
from numerics.errors import InvalidArgument
from tests.circuits.strategies import close
from tests.circuits.test_token_pairs import brute_force
from tests.models.tiny import TINY, V
from tests.models.truth import observe
from tests.positional.walked import save_text, save_walkable

PERIOD, COPIES = 4, 3
FIRST = 4
"""The first ordinary token: the tokenizer of the tiny models has four special ones."""
ENCODERS = ("bert", "distilbert", "mpnet", "roberta")
Load = Callable[[str], Model]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_text(tmp_path_factory.mktemp("text") / "words.txt", 1300)


def walk(model: Model, **options: Any) -> xr.Dataset:
    return head_circuits(model, **{"period": PERIOD, "copies": COPIES, "seeds": 2, "texts": 0, **options})


@pytest.mark.parametrize("case", sorted(TINY))
def test_table_of_every_architecture(case: str, walkable: Load) -> None:
    model = walkable(case)
    table = walk(model)
    behaviour = table["behaviour"]
    assert behaviour.dims == ("layer", "head", "kind")
    assert behaviour.sizes == {"layer": model.n_layers, "head": model.n_heads, "kind": 5}
    assert bool(((behaviour >= 0) & (behaviour <= 1 + 1e-12) | behaviour.isnull()).all())
    encoder, two_stacks = case in ENCODERS, model.stacks is not None
    attended = behaviour.sel(kind=["previous_token", "duplicate_token", "induction", "first_token"])
    assert bool(attended.notnull().all())
    assert ("copying" in table) == (not encoder)
    assert ("copying_note" in table.attrs) == (encoder or two_stacks)
    assert ("loss" in table) == (not encoder and not two_stacks)
    assert ("behaviour_note" in table.attrs) == (encoder or two_stacks)
    if not encoder:
        from_logits = [layer for layer in range(model.n_layers) if not two_stacks or model.stacks[layer] == "decoder"]  # type: ignore[index]
        read = table["copying"].sel(layer=from_logits)
        assert bool(((read >= -1 - 1e-12) & (read <= 1 + 1e-12)).all())
        assert bool(table["copying"].drop_sel(layer=from_logits).isnull().all())
        assert int(behaviour.sel(kind="direct_copying").notnull().sum()) == len(from_logits) * model.n_heads
    scores = table["composition"]
    assert scores.dims == ("later_layer", "later_head", "layer", "head", "composition_kind")
    for later in range(model.n_layers):
        for earlier in range(model.n_layers):
            same = model.stacks is None or model.stacks[later] == model.stacks[earlier]
            block = scores.isel(later_layer=later, layer=earlier)
            if earlier < later and same:
                assert bool(((block >= 0) & (block <= 1 + 1e-12)).all())
            else:
                assert bool(block.isnull().all())
    assert table["composition_baseline"].dims == ("composition_kind",)
    assert table.attrs["qk_norm"] == ("none" if model.heads(0).q_norm is None else "gain-folded")
    assert ("final_norm" in table.attrs) == (not encoder)
    assert ("form_note" in table.attrs) == any(model.heads(layer).norm is None for layer in range(model.n_layers))


@pytest.mark.parametrize("case", ["gpt2", "llama", "gemma3", "t5", "bert", "bloom", "mistral", "gpt_neox"])
def test_behaviours_are_the_models_own_attention(case: str, walkable: Load) -> None:
    """From the softmax that transformers computes, without our visitor, on the very tokens that were drawn."""
    model = walkable(case)
    found = measure._Walk(model, PERIOD, COPIES, 1, ())
    found.run(0)
    truth = observe(model, torch.as_tensor(found.ids[0])[None], float64=False)
    queries = range(PERIOD, PERIOD * COPIES)
    for layer in range(model.n_layers):
        pattern = truth.pattern[layer]
        window = model.heads(layer).window or 10**6
        for place, key in enumerate((lambda i: i - 1, lambda i: i - PERIOD, lambda i: i - PERIOD + 1, lambda i: 0)):
            expected = np.mean([pattern[:, i, key(i)] for i in queries if i - key(i) < window], axis=0)
            # Some models take the softmax in float32: 67 roundings of numbers up to 1.
            assert close(found.behaviours[0][layer, :, place], expected, 1e-5)


def test_losses_are_the_models_own(walkable: Load) -> None:
    model = walkable("llama")
    found = measure._Walk(model, PERIOD, COPIES, 1, ())
    found.run(0)
    ids = torch.as_tensor(found.ids[0])[None]
    with torch.no_grad():
        logits = model.forward(ids)[0]
    losses = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:], reduction="none").numpy()
    for copy in range(COPIES):
        first = copy * PERIOD
        assert close(found.copy_losses[0][copy], losses[first : first + PERIOD - 1].mean(), 1e-6)


def test_special_tokens_are_never_drawn(walkable: Load) -> None:
    for seed_ids in measure._Walk(walkable("gpt2"), 20, 2, 30, ()).ids:
        assert seed_ids.min() >= FIRST
        assert seed_ids.max() < V


@pytest.mark.parametrize("form", ["raw", "folded"])
@pytest.mark.parametrize("case", ["gpt2", "gemma2", "llama", "bloom", "cohere"])
def test_copying_and_composition_from_whole_matrices(case: str, form: Any, walkable: Load) -> None:
    """With W_U, OV and W_E multiplied out, and every norm's Γ and C as a D × D matrix."""
    model = walkable(case)
    table = walk(model, form=form, whole_vocabulary=True)
    D, ends = model.width, model.vocabulary
    C = np.eye(D) - 1 / D
    folded = form == "folded"

    def matrix(norm: Any) -> Any:
        if norm is None or not folded:
            return np.eye(D)
        return np.diag(norm.gain) @ (C if norm.kind == "layernorm" else np.eye(D))

    assert ends.W_U is not None
    W_U, W_E = ends.W_U @ matrix(ends.final_norm), ends.W_E @ matrix(ends.embedding_norm).T
    OV = {}
    for layer in range(model.n_layers):
        heads = model.heads(layer)
        for head in range(model.n_heads):
            group = heads.kv_head(head)
            whole = heads.W_O[head] @ heads.W_V[group] @ matrix(heads.norm)
            if heads.post_norm is not None:
                whole = np.diag(heads.post_norm.gain) @ whole
            OV[layer, head] = whole
            circuit = W_U @ whole @ W_E.T
            eigenvalues = np.linalg.eigvals(circuit)
            score = eigenvalues.real.sum() / np.abs(eigenvalues).sum()
            # The V − n zero eigenvalues come out as rounding, up to (eps)^½ of the norm where they form blocks.
            assert close(table["copying"].sel(layer=layer, head=head), score, 1e-5)
            # Per token the norm's own number is positive: the sign needs the direction alone.
            x = ends.W_E if ends.embedding_norm is None or not folded else _bare(ends.embedding_norm, ends.W_E)
            x = x if heads.norm is None or not folded else _bare(heads.norm, x)
            reads = heads.W_O[head] @ heads.W_V[group]
            if heads.post_norm is not None:
                reads = np.diag(heads.post_norm.gain) @ reads
            logits = W_U @ reads @ x.T
            ordinary = np.arange(FIRST, V)
            raised = (np.diag(logits) > logits.mean(axis=0))[ordinary].mean()
            assert close(table["behaviour"].sel(layer=layer, head=head, kind="direct_copying"), raised)
    own = factors_of(model.heads(1), 3, model.positions.rotary(1), folded)
    L = own.key.T @ own.query
    for kind, A in (("Q", L), ("K", L.T), ("V", OV[1, 3])):
        expected = np.linalg.norm(A @ OV[0, 2]) / np.linalg.norm(A) / np.linalg.norm(OV[0, 2])
        got = table["composition"].sel(later_layer=1, later_head=3, layer=0, head=2, composition_kind=kind)
        assert close(got, expected)
    singular = np.linalg.svd(L, compute_uv=False)[: model.head_dim]
    assert close(table["qk_singular_values"].sel(layer=1, head=3), singular, 1e-6)
    singular = np.linalg.svd(OV[1, 3], compute_uv=False)[: model.head_dim]
    assert close(table["ov_singular_values"].sel(layer=1, head=3), singular, 1e-6)


def _bare(norm: Any, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True) if norm.kind == "layernorm" else x
    return norm.gain * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + norm.eps)


@pytest.mark.parametrize("case", ["gpt2", "gemma3", "olmo2", "llama"])
@pytest.mark.parametrize("whole", [True, False])
def test_token_pairs_written_out(case: str, whole: bool, walkable: Load, text: Path) -> None:
    """All pairs of all tokens through the model's own norms, weights and scale, biases aside."""
    model = walkable(case)
    found = walk(model, pairs="1.2", text=[text], whole_vocabulary=whole).sel(chosen="1.2")
    heads, ends = model.heads(1), model.vocabulary
    ids = np.arange(FIRST if whole else 5, V)  # the text holds all words
    x = ends.W_E[ids] if heads.norm is None else _bare(heads.norm, ends.W_E[ids])
    q, k = np.einsum("hnd,td->htn", heads.W_Q, x), np.einsum("hnd,td->htn", heads.W_K, x)
    for norm, vectors in ((heads.q_norm, q), (heads.k_norm, k)):
        if norm is not None:
            axes = (0, 2) if norm.scope == "all heads" else (2,)
            vectors /= np.sqrt((vectors**2).mean(axes, keepdims=True) + norm.eps)
            vectors *= norm.gain[:, None]
    scores = heads.scale * q[2] @ k[heads.kv_head(2)].T
    scores -= scores.mean(axis=1, keepdims=True)
    assert ends.W_U is not None
    W_U = ends.W_U * (1 if ends.final_norm is None else ends.final_norm.gain)
    if ends.final_norm is not None and ends.final_norm.kind == "layernorm":
        W_U = W_U - W_U.mean(axis=1, keepdims=True)
    written = heads.W_O[2] @ heads.W_V[heads.kv_head(2)] @ x.T
    if heads.post_norm is not None:
        written = heads.post_norm.gain[:, None] * written
    lifts = ((W_U - W_U.mean(axis=0)) @ written).T[:, ids]
    for circuit, products in (("QK", scores), ("OV", lifts)):
        value, left, right = brute_force(products, tables.TOP)
        rows = found.sel(circuit=circuit)
        assert close(rows["pair_value"], value)
        assert rows["pair_left"].values.tolist() == ids[left].tolist()
        assert rows["pair_right"].values.tolist() == ids[right].tolist()
        spelled = model.vocabulary.tokenizer.convert_ids_to_tokens(ids[left].tolist())
        assert rows["pair_left_token"].values.tolist() == spelled
    assert int(found["trigram_source"].min()) == -1 or int(found["trigram_source"].min()) >= 5
    assert int((found["trigram_source"] >= 0).sum()) > 5
    if whole:  # skip-trigrams stay with the tokens of the text
        return
    for row in range(int((found["trigram_source"] >= 0).sum())):
        a, b, c = (int(found[f"trigram_{name}"][row]) - 5 for name in ("source", "destination", "output"))
        assert close(found["trigram_qk"][row], scores[:, a].max())
        assert close(found["trigram_ov"][row], lifts[a].max())
        assert scores[b, a] == pytest.approx(scores[:, a].max())
        assert lifts[a, c] == pytest.approx(lifts[a].max())


@pytest.mark.parametrize("case", ["llama", "gpt2", "gemma3"])
@pytest.mark.parametrize("form", ["raw", "folded"])
def test_random_models_sit_at_the_baseline(case: str, form: Any, walkable: Load) -> None:
    """Every weight of the tiny models is drawn at random."""
    table = walk(walkable(case), form=form)
    scores = table["composition"].isel(later_layer=1, layer=0)
    mean = scores.mean(["later_head", "head"])
    # 16 pairs of 4 heads each: not independent, as if 4; the baseline's own mean is over 64.
    allowed = 4 * table["composition_baseline_sd"] * np.sqrt(1 / 4 + 1 / 64)
    assert bool((np.abs(mean - table["composition_baseline"]) < allowed).all())
    # Copying of random heads has no sign: 8 scores of spread below 1.
    assert abs(float(table["copying"].mean())) < 0.5
    chance = 1 / (PERIOD * COPIES)
    assert 0 < float(table["behaviour"].sel(kind="induction").mean()) < 6 * chance


@pytest.mark.parametrize("case", ["gpt2", "t5", "bert", "gemma3"])
def test_same_input_same_bytes(case: str, walkable: Load, text: Path, tmp_path: Path) -> None:
    model = walkable(case)
    for name in ("a.nc", "b.nc"):
        results.save(walk(model, pairs="0.1,1.0,1.1", text=[text]), tmp_path / name)
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    loaded = results.load(tmp_path / "a.nc")
    assert loaded["chosen"].values.tolist() == ["0.1", "1.0", "1.1"]
    assert loaded["virtual"].values.tolist() == ["0.1→1.0", "0.1→1.1"]
    assert ("virtual_copying" in loaded) == (case != "bert")
    assert ("trigram_source" in loaded) == (case not in ("bert", "t5"))  # T5's layers 0 and 1 are its encoder's
    assert loaded["pair_value"].sel(circuit="QK").notnull().all()
    assert "text_sha256" in loaded.attrs
    assert loaded.attrs["created_by"].endswith("--form folded --texts 0 --pairs 0.1,1.0,1.1")


def test_virtual_heads_written_out(walkable: Load, text: Path) -> None:
    model = walkable("llama")
    table = walk(model, seeds=1, pairs="0.1,1.2", text=[text])
    walked = measure._Walk(model, PERIOD, COPIES, 1, ())
    truth = observe(model, torch.as_tensor(walked.ids[0])[None], float64=False)
    product = truth.pattern[1][2] @ truth.pattern[0][1]
    i = np.arange(PERIOD, PERIOD * COPIES)
    expected = [product[i, key].mean() for key in (i - 1, i - PERIOD, i - PERIOD + 1, np.zeros_like(i))]
    assert close(table["virtual_behaviour"].isel(virtual=0, kind=slice(0, 4)), expected, 1e-5)
    first, second = (
        factors_of(model.heads(layer), head, model.positions.rotary(layer), True) for layer, head in ((0, 1), (1, 2))
    )
    ends = model.vocabulary
    assert ends.W_U is not None
    assert ends.final_norm is not None
    W_U = ends.W_U * ends.final_norm.gain
    eigenvalues = np.linalg.eigvals(W_U @ second.output @ second.value @ first.output @ first.value @ ends.W_E.T)
    score = eigenvalues.real.sum() / np.abs(eigenvalues).sum()
    assert close(table["virtual_copying"], [score], 1e-5)


def test_a_period_beyond_some_windows_says_so(walkable: Load) -> None:
    table = walk(walkable("gemma3"), period=6)  # layer 0 sees 5 keys, layer 1 all
    behaviour = table["behaviour"]
    assert "window of layers 0" in table.attrs["period_note"]
    assert "period ≤ 4" in table.attrs["period_note"]
    assert bool(behaviour.sel(layer=0, kind=["duplicate_token", "induction", "first_token"]).isnull().all())
    assert bool(behaviour.sel(layer=0, kind="previous_token").notnull().all())
    assert bool(behaviour.sel(layer=1).notnull().all())


def test_a_period_beyond_all_windows_is_refused(walkable: Load) -> None:
    with pytest.raises(InvalidArgument, match="widest window is 5; use a period ≤ 4"):
        walk(walkable("mistral"), period=5)


def test_more_tokens_than_positions_are_refused(walkable: Load) -> None:
    with pytest.raises(InvalidArgument, match=r"64 positions.*period ≤ 21"):
        walk(walkable("gpt2"), period=22)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"form": "mixed"}, "form is 'mixed'"),
        ({"seeds": 0}, "0 seeds"),
        ({"pairs": "7.0"}, "no head 7.0"),
        ({"period": 2}, "period ≥ 3"),
    ],
)
def test_unusable_arguments_are_refused(options: dict[str, Any], said: str, walkable: Load) -> None:
    with pytest.raises(InvalidArgument, match=said):
        walk(walkable("llama"), **options)


def test_in_context_learning_of_a_text(tmp_path: Path, text: Path) -> None:
    model = load_model(str(save_walkable("llama", tmp_path / "llama")), dtype="float64")
    table = walk(model, text=[text], texts=2)
    assert table.attrs["texts"] == "2"
    ids = np.array(model.vocabulary.tokenizer(text.read_text())["input_ids"])
    scores = []
    for chunk in (ids[:512], ids[512:1024]):
        with torch.no_grad():
            logits = model.forward(torch.as_tensor(chunk)[None])[0]
        losses = torch.nn.functional.cross_entropy(logits[:-1], torch.as_tensor(chunk[1:]), reduction="none").numpy()
        scores.append(losses[499] - losses[49])  # token i is foretold at i − 1
    assert close(table["in_context_learning"], np.mean(scores), 1e-6)
    assert close(table["in_context_learning_se"], np.std(scores, ddof=1) / np.sqrt(2), 1e-6)


@pytest.mark.parametrize(("case", "said"), [("gpt2", "64 positions"), ("bert", "no next token"), ("t5", "no next")])
def test_where_there_is_no_in_context_learning_a_note_says_why(case: str, said: str, walkable: Load) -> None:
    table = walk(walkable(case), texts=2)
    assert "in_context_learning" not in table
    assert said in table.attrs["in_context_learning_note"]


def test_a_text_too_short_for_in_context_learning_is_noted(tmp_path: Path, walkable: Load) -> None:
    short = save_text(tmp_path / "short.txt", 100)
    table = walk(walkable("llama"), text=[short], texts=2)
    assert "in_context_learning" not in table
    assert "no document fills a chunk" in table.attrs["in_context_learning_note"]


def test_progress_ends_at_its_total(walkable: Load, text: Path) -> None:
    steps: list[tuple[int, int]] = []
    walk(walkable("llama"), pairs="0.0", text=[text], progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (2 + 2 + 1, 2 + 2 + 1)
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
