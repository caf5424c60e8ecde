"""`profile` on made-up models: the table of the contract, and each number against the whole D × D form."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from numerics.errors import InvalidArgument, NonFiniteWeight
from numerics.forms import measure
from numerics.forms.measure import COUNTS, NUMBERS, profile
from numerics.forms.reference import extras_by_definition, full_form, profile_by_definition
from numerics.models.heads import Norm, QKNorm
from numerics.models.rotary import RotaryTable
from tests.forms.agreement import AGREEMENT, agree, on_simplex
from tests.forms.fake_model import FakeModel, head_weights, random_model
from tests.forms.strategies import Float

N, WIDTH = 4, 24
HALF = RotaryTable(N, "half", np.array([1.0, 0.1]))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(17)


def centring(size: int) -> Float:
    return np.eye(size) - np.ones((size, size)) / size


def test_table_is_the_contract_s() -> None:
    table = profile(random_model(np.random.default_rng(0), tables=[HALF, HALF]), distances=(0, 3))
    assert table["profile"].dims == ("layer", "head", "distance", "coordinate")
    assert list(table["coordinate"].values) == ["a", "b", "c", "d"]
    assert list(table["distance"].values) == [0, 3]
    for name in (*NUMBERS, *COUNTS, "type"):
        assert table[name].dims == ("layer", "head", "distance"), name
    assert set(table.data_vars) == {"profile", *NUMBERS, *COUNTS, "type", "baseline", "symmetric_spectrum"}
    assert table["baseline"].dims == ("coordinate",)
    assert table["symmetric_spectrum"].dims == ("layer", "head", "eigenvalue")
    assert table["symmetric_spectrum"].dtype == np.float32
    assert table.attrs["created_by"] == "numerics profile fake --form raw --distances 0,3"
    assert {"model", "source", "form", "qk_norm", "zero_heads"} <= set(table.attrs)


def matches(table: Any, layer: int, head: int, distance: int, L: Float) -> bool:
    at = table.sel(layer=layer, head=head, distance=distance)
    extras = extras_by_definition(L)
    return agree(at["profile"], profile_by_definition(L), AGREEMENT) and all(
        agree(at[name], extras[name], AGREEMENT) for name in (*NUMBERS, *COUNTS)
    )


def test_query_heads_of_a_group_share_their_key_head(rng: np.random.Generator) -> None:
    model = random_model(rng, layers=2, heads=6, kv_heads=2, n=N, width=WIDTH)
    table = profile(model)
    for layer, weights in enumerate(model.layers):
        for head in range(6):
            assert matches(table, layer, head, 0, full_form(weights.W_K[head // 3], weights.W_Q[head]))
            assert not matches(table, layer, head, 0, full_form(weights.W_K[1 - head // 3], weights.W_Q[head]))


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("bands", [1, 2])
def test_distance_turns_the_query(rng: np.random.Generator, pairing: Any, bands: int) -> None:
    """Against a rotation matrix built entry by entry; with one band of two, the tail does not turn."""
    frequencies = np.array([0.7, 0.05])[:bands]
    model = random_model(rng, layers=1, n=N, width=WIDTH, tables=[RotaryTable(N, pairing, frequencies)])
    table = profile(model, distances=(0, 1, 9))
    for distance in (0, 1, 9):
        R = np.eye(N)
        for band, frequency in enumerate(frequencies):
            i, j = (band, band + bands) if pairing == "half" else (2 * band, 2 * band + 1)
            angle = distance * frequency
            R[[i, i, j, j], [i, j, i, j]] = [np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)]
        for head in range(3):
            W_K, W_Q = model.layers[0].W_K[head], model.layers[0].W_Q[head]
            assert matches(table, 0, head, distance, W_K.T @ R @ W_Q)
            # Turned the other way, it is another form.
            assert distance == 0 or not matches(table, 0, head, distance, W_K.T @ R.T @ W_Q)


def test_attention_scaling_of_partial_rotary_is_no_mere_factor(rng: np.random.Generator) -> None:
    rotary = RotaryTable(N, "half", np.array([0.3]), attention_scaling=1.5)
    model = random_model(rng, layers=1, n=N, width=WIDTH, tables=[rotary])
    table = profile(model)
    weights = model.layers[0]
    scaled = np.diag([2.25, 2.25, 1, 1])
    assert matches(table, 0, 1, 0, weights.W_K[1].T @ scaled @ weights.W_Q[1])
    assert not matches(table, 0, 1, 0, weights.W_K[1].T @ weights.W_Q[1])


def test_layer_without_rotation_has_one_form_for_all_distances(rng: np.random.Generator) -> None:
    model = random_model(rng, layers=2, tables=[HALF, None])
    table = profile(model, distances=(0, 5))
    first, last = table.sel(distance=0), table.sel(distance=5)
    assert not agree(first["profile"][0], last["profile"][0], 1e-3)
    assert agree(first["profile"][1], last["profile"][1], 0.0)
    assert (first["type"][1] == last["type"][1]).all()


@pytest.mark.parametrize("kind", ["rms", "layernorm"])
def test_folded_form(rng: np.random.Generator, kind: Any) -> None:
    gain = rng.standard_normal(WIDTH)
    W_Q, W_K = rng.standard_normal((2, 1, N, WIDTH))
    model = FakeModel([head_weights(W_Q, W_K, norm=Norm(kind, gain, np.ones(WIDTH), 1e-5))])
    C = centring(WIDTH) if kind == "layernorm" else np.eye(WIDTH)
    L = full_form(W_K[0], W_Q[0])
    folded = C @ np.diag(gain) @ L @ np.diag(gain) @ C
    assert matches(profile(model, "folded"), 0, 0, 0, folded)
    assert matches(profile(model, "raw"), 0, 0, 0, L)
    assert not matches(profile(model, "raw"), 0, 0, 0, folded)
    assert profile(model, "folded").attrs["form"] == "folded"
    assert "form_note" not in profile(model, "folded").attrs


def test_folded_without_a_norm_is_raw_and_says_so(rng: np.random.Generator) -> None:
    model = random_model(rng)
    raw, folded = profile(model, "raw"), profile(model, "folded")
    assert agree(folded["profile"], raw["profile"], 0.0)
    assert folded.attrs["form_note"] == "no norm before attention: folded = raw"
    assert "form_note" not in raw.attrs
    norm = Norm("rms", np.linspace(1, 2, 16), None, 1e-6)
    mixed = FakeModel([model.layers[0], head_weights(model.layers[1].W_Q, model.layers[1].W_K, layer=1, norm=norm)])
    assert profile(mixed, "folded").attrs["form_note"] == "no norm before attention in layers 0: folded = raw"


@pytest.mark.parametrize("kind", ["rms", "layernorm"])
@pytest.mark.parametrize("scope", ["head", "all heads"])
@pytest.mark.parametrize("form", ["raw", "folded"])
def test_qk_norm_is_in_both_forms_before_the_rotation(
    rng: np.random.Generator, kind: Any, scope: Any, form: Any
) -> None:
    H, G = 4, 2
    W_Q, W_K = rng.standard_normal((H, N, WIDTH)), rng.standard_normal((G, N, WIDTH))
    q_gain, k_gain, gain = rng.standard_normal((H, N)), rng.standard_normal((G, N)), rng.standard_normal(WIDTH)
    weights = head_weights(
        W_Q,
        W_K,
        norm=Norm("rms", gain, None, 1e-6),
        q_norm=QKNorm(kind, q_gain, None, 1e-6, scope),
        k_norm=QKNorm(kind, k_gain, None, 1e-6, scope),
    )
    table = profile(FakeModel([weights], tables=[HALF]), form, (0, 2))
    assert table.attrs["qk_norm"] == "gain-folded"
    assert "qk_norm_note" not in table.attrs

    def normed(W: Float, g: Float) -> Float:
        if kind == "layernorm":
            rows = W.reshape(-1, WIDTH)
            block = centring(N) if scope == "head" else centring(len(rows))
            W = (np.kron(np.eye(len(W)), block) if scope == "head" else block).dot(rows).reshape(W.shape)
        return g[..., None] * W

    Q, K = normed(W_Q, q_gain), normed(W_K, k_gain)
    Γ = np.diag(gain) if form == "folded" else np.eye(WIDTH)
    for distance in (0, 2):
        for head in range(H):
            L = Γ @ full_form(K[head // 2], Q[head], lambda x, δ=distance: HALF.rotate(x, δ)) @ Γ
            assert matches(table, 0, head, distance, L)


def test_bias_of_a_qk_norm_is_left_out_and_said(rng: np.random.Generator) -> None:
    W_Q, W_K = rng.standard_normal((2, 1, N, WIDTH))
    with_bias = QKNorm("layernorm", np.ones((1, N)), np.ones((1, N)), 1e-6)
    table = profile(FakeModel([head_weights(W_Q, W_K, q_norm=with_bias, k_norm=with_bias)]))
    assert table.attrs["qk_norm"] == "gain-folded"
    assert table.attrs["qk_norm_note"].startswith("linear part")
    assert profile(random_model(rng)).attrs["qk_norm"] == "none"


def test_zero_head_is_four_nan_and_counted(rng: np.random.Generator) -> None:
    model = random_model(rng, layers=2, tables=[HALF, HALF])
    model.layers[1].W_K[2] = 0
    table = profile(model, distances=(0, 1))
    assert np.isnan(table["profile"].values[1, 2]).all()
    assert np.isnan(table["profile"].values).sum() == 8
    assert (table["type"].values[1, 2] == "zero").all()
    assert table.attrs["zero_heads"] == 1
    assert (table["n_positive"].values[1, 2] == 0).all()


def test_antisymmetric_head(rng: np.random.Generator) -> None:
    u, v = rng.standard_normal((2, N, WIDTH))
    model = FakeModel([head_weights(np.concatenate([v, -u])[None], np.concatenate([u, v])[None])])
    head = profile(model).isel(layer=0, head=0, distance=0)
    assert head["type"] == "antisymmetric"
    assert agree(head["profile"], [1, 0, 0, 0], 0.0)


def test_heads_that_a_layer_lacks_are_missing(rng: np.random.Generator) -> None:
    few = head_weights(*rng.standard_normal((2, 1, N, WIDTH)))
    many = head_weights(*rng.standard_normal((2, 3, N, WIDTH)), layer=1)
    table = profile(FakeModel([few, many]))
    assert np.isnan(table["profile"].values[0, 1:]).all()
    assert np.isnan(table["n_positive"].values[0, 1:]).all()
    assert np.isnan(table["symmetric_spectrum"].values[0, 1:]).all()
    assert (table["type"].values[0, 1:] == "").all()
    assert table.attrs["zero_heads"] == 0
    assert not np.isnan(table["profile"].values[1]).any()


def test_spectrum_is_that_of_the_first_distance(rng: np.random.Generator) -> None:
    model = random_model(rng, layers=1, n=N, width=WIDTH, tables=[HALF])
    table = profile(model, distances=(7, 0))
    weights = model.layers[0]
    L = full_form(weights.W_K[1], weights.W_Q[1], lambda x: HALF.rotate(x, 7))
    eigenvalues = np.linalg.eigvalsh(L + L.T)[::-1] / 2 / np.linalg.norm(L)
    expected = np.concatenate([eigenvalues[:N], eigenvalues[-N:]])
    assert agree(table["symmetric_spectrum"].values[0, 1], expected, 1e-6)  # eps of float32 is 6e-8
    assert table["symmetric_spectrum"].attrs["long_name"].endswith("at distance 7, largest first")


def test_stacks_name_the_layers(rng: np.random.Generator) -> None:
    table = profile(random_model(rng, layers=2, stacks=("encoder", "decoder")))
    assert list(table["stack"].values) == ["encoder", "decoder"]
    assert table["stack"].dims == ("layer",)
    assert "stack" not in profile(random_model(rng)).coords


def test_baseline_is_that_of_shape_and_gains(rng: np.random.Generator) -> None:
    gain = np.concatenate([np.full(WIDTH - 4, 0.1), np.full(4, 3.0)])
    W_Q, W_K = rng.standard_normal((2, 2, N, WIDTH))
    model = FakeModel([head_weights(W_Q, W_K, norm=Norm("rms", gain, None, 1e-6))])
    raw, folded = profile(model)["baseline"].values, profile(model, "folded")["baseline"].values
    assert on_simplex(raw)
    assert on_simplex(folded)
    assert agree(raw[0], 0.5 * (1 - 1 / WIDTH), 1e-14)
    assert agree(folded[0], 0.5 * (1 - np.sum(gain**4) / np.sum(gain**2) ** 2), 1e-14)
    assert raw[2] == raw[3]
    # Not of the weights: another model of the same shape has the same baseline.
    other = FakeModel([head_weights(2 * W_K, W_Q, norm=Norm("rms", gain, None, 1e-6))])
    assert agree(profile(other)["baseline"], raw, 0.0)


@pytest.mark.parametrize("kind", ["rms", "layernorm"])
@pytest.mark.parametrize("scope", ["head", "all heads"])
def test_baseline_under_a_qk_norm(rng: np.random.Generator, kind: Any, scope: Any) -> None:
    W = rng.standard_normal((2, N, WIDTH))
    norm = QKNorm(kind, rng.standard_normal((2, N)), None, 1e-6, scope)
    table = profile(FakeModel([head_weights(W, W, q_norm=norm, k_norm=norm)]))
    assert on_simplex(table["baseline"].values)


def test_same_model_gives_the_same_table_bit_for_bit(rng: np.random.Generator) -> None:
    model = random_model(rng, layers=3, heads=5, kv_heads=5, n=8, width=40, tables=[HALF] * 3)
    first, second = profile(model, distances=(0, 2)), profile(model, distances=(0, 2))
    assert first.identical(second)


def test_layers_are_read_once_in_order_and_progress_is_told(rng: np.random.Generator) -> None:
    model = random_model(rng, layers=3)
    told: list[tuple[int, int]] = []
    profile(model, progress=lambda done, total: told.append((done, total)))
    assert model.read == [0, 1, 2]
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_one_layer_is_held_at_a_time(rng: np.random.Generator) -> None:
    """When a layer is asked for, the weights of the one before are gone."""
    import gc
    import weakref

    held: list[weakref.ref[Any]] = []

    class Fresh(FakeModel):
        def heads(self, layer: int) -> Any:
            gc.collect()
            assert [ref() for ref in held] == [None] * len(held)
            made = head_weights(*np.random.default_rng(layer).standard_normal((2, 2, N, WIDTH)), layer=layer)
            held.append(weakref.ref(made))
            return made

    profile(Fresh(random_model(rng, layers=3, heads=2, kv_heads=2, n=N, width=WIDTH).layers))
    assert len(held) == 3


def test_blas_runs_on_one_thread_while_heads_run_side_by_side(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    real: Callable[..., Any] = measure.describe

    def spy(*arguments: Any) -> Any:
        seen.extend(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")
        return real(*arguments)

    monkeypatch.setattr(measure, "describe", spy)
    with threadpool_limits(2, user_api="blas"):  # whatever the environment allows
        profile(random_model(rng))
    assert seen
    assert set(seen) == {1}


@pytest.mark.parametrize(
    ("form", "distances", "said"),
    [
        ("both", (0,), "form is 'both'; use 'raw' or 'folded'"),
        ("raw", (), "no distance is given"),
        ("raw", (0, -1), "distance -1: query − key is a whole number ≥ 0"),
        ("raw", (0, 1.5), "distance 1.5"),
        ("raw", (2, 2), "name one twice"),
    ],
)
def test_unusable_arguments_are_refused(rng: np.random.Generator, form: Any, distances: Any, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said.replace("(", r"\(")):
        profile(random_model(rng, tables=[HALF, HALF]), form, distances)


def test_distances_on_a_model_without_rotation_are_refused(rng: np.random.Generator) -> None:
    model = random_model(rng, scheme="alibi")
    with pytest.raises(InvalidArgument, match=r"fake has no rotary positions \(alibi\).*; leave distances at 0"):
        profile(model, distances=(0, 1))
    assert model.read == []


@pytest.mark.parametrize(("matrix", "name"), [("W_Q", "W_Q"), ("W_K", "W_K")])
def test_non_finite_weight_names_layer_head_and_matrix(rng: np.random.Generator, matrix: str, name: str) -> None:
    weights = {"W_Q": rng.standard_normal((2, N, WIDTH)), "W_K": rng.standard_normal((2, N, WIDTH))}
    weights[matrix][1, 2, 3] = np.nan
    with pytest.raises(NonFiniteWeight, match=f"fake: {name} of layer 0, head 1"):
        profile(FakeModel([head_weights(weights["W_Q"], weights["W_K"])]))


@pytest.mark.parametrize("which", ["norm before attention", "query norm", "key norm"])
def test_non_finite_gain_is_named(rng: np.random.Generator, which: str) -> None:
    W = rng.standard_normal((2, N, WIDTH))
    bad = {
        "norm before attention": {"norm": Norm("rms", np.full(WIDTH, np.inf), None, 1e-6)},
        "query norm": {"q_norm": QKNorm("rms", np.full((2, N), np.nan), None, 1e-6)},
        "key norm": {"k_norm": QKNorm("rms", np.full((2, N), np.nan), None, 1e-6)},
    }[which]
    with pytest.raises(NonFiniteWeight, match=f"gain of the {which} of layer 0"):
        profile(FakeModel([head_weights(W, W, **bad)]))
