"""Every head of the two real models that packages carry, through `load_model`."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

import numerics
from numerics.forms.folding import fold_output_norm
from numerics.forms.measure import COUNTS, NUMBERS
from numerics.forms.reference import extras_by_definition, full_form, profile_by_definition
from tests.forms.agreement import AGREEMENT, agree, on_simplex

Keep = Callable[[xr.Dataset], xr.Dataset]


def test_minilm(keep: Keep) -> None:
    model = numerics.load_model("minilm")
    table = keep(numerics.profile(model))
    assert table.sizes == {"layer": 6, "head": 12, "distance": 1, "coordinate": 4, "eigenvalue": 64}
    assert table.attrs["qk_norm"] == "none"
    assert table.attrs["zero_heads"] == 0
    # Surjective K and Q: the signature is (n, n, D − 2n).
    assert (table["n_positive"] == 32).all()
    assert (table["n_negative"] == 32).all()
    for layer in range(6):
        weights = model.heads(layer)
        for head in range(12):
            at = table.sel(layer=layer, head=head, distance=0)
            L = full_form(weights.W_K[head], weights.W_Q[head])
            assert agree(at["profile"], profile_by_definition(L), AGREEMENT), (layer, head)
            extras = extras_by_definition(L)
            for name in (*NUMBERS, *COUNTS):
                assert agree(at[name], extras[name], AGREEMENT), (layer, head, name)


@pytest.mark.slow
def test_gemma(keep: Keep) -> None:
    """Four query heads on one key head, QK gains (some of them zero), two rotary bases."""
    model = numerics.load_model("gemma-3-270m")
    raw, folded = keep(numerics.profile(model, "raw", (0, 7))), keep(numerics.profile(model, "folded"))
    assert raw.sizes == {"layer": 18, "head": 4, "distance": 2, "coordinate": 4, "eigenvalue": 512}
    assert raw.attrs["qk_norm"] == "gain-folded"
    # Found first with another program on the same weights.
    for found, expected in ((raw, 0.48), (folded, 0.40)):
        assert float(found["profile"].sel(distance=0, coordinate="a").mean()) == pytest.approx(expected, abs=0.01)
    assert all(on_simplex(profile) for profile in raw["profile"].values.reshape(-1, 4))
    for layer in (0, 5, 12):  # 5 has the long rotary base, 12 the most zero gains
        weights, rotary = model.heads(layer), model.positions.rotary(layer)
        assert weights.q_norm is not None
        assert weights.k_norm is not None
        assert weights.norm is not None
        assert rotary is not None
        W_K = fold_output_norm(weights.W_K[0], weights.k_norm.gain[0], None)
        for head in range(4):
            W_Q = fold_output_norm(weights.W_Q[head], weights.q_norm.gain[head], None)
            for distance in (0, 7):
                L = full_form(W_K, W_Q, lambda x, rotary=rotary, δ=distance: rotary.rotate(x, δ))
                at = raw.sel(layer=layer, head=head, distance=distance)
                assert agree(at["profile"], profile_by_definition(L), AGREEMENT), (layer, head, distance)
                extras = extras_by_definition(L)
                for name in (*NUMBERS, *COUNTS):
                    assert agree(at[name], extras[name], AGREEMENT), (layer, head, distance, name)
            L = np.diag(weights.norm.gain) @ full_form(W_K, W_Q) @ np.diag(weights.norm.gain)
            at = folded.sel(layer=layer, head=head, distance=0)
            assert agree(at["profile"], profile_by_definition(L), AGREEMENT), (layer, head)
