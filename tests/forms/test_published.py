"""The 108 published profiles (`data/README.md`): what the rows say by themselves, and ours against them."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from numerics.forms.coordinates import head_type
from tests.forms.agreement import PUBLISHED, agree
from tests.forms.strategies import Float

ROWS = Path(__file__).parent / "data" / "published_profiles.csv"


def published() -> list[dict[str, str]]:
    with ROWS.open(newline="") as file:
        return list(csv.DictReader(file))


def coordinates(row: dict[str, str]) -> Float:
    return np.array([float(row[name]) for name in "abcd"])


def test_rows_are_all_heads_of_distilgpt2_and_three_layers_of_gpt2() -> None:
    rows = [(row["model"], int(row["layer"]), int(row["head"])) for row in published()]
    expected = [
        (model, layer, head)
        for model, layers in (("distilgpt2", 6), ("gpt2", 3))
        for layer in range(layers)
        for head in range(12)
    ]
    assert sorted(rows) == sorted(expected)


def test_rows_lie_on_the_simplex() -> None:
    for row in published():
        profile = coordinates(row)
        assert np.all(profile >= 0)
        assert abs(profile.sum() - 1) <= 4 * 0.5e-8  # four numbers of 8 decimals


def test_rows_have_the_signature_of_full_rank_heads() -> None:
    """n₊ = n₋ = n = 64: what holds for every surjective (Q, K)."""
    assert {(row["n_pos"], row["n_neg"]) for row in published()} == {("64", "64")}


def test_rows_have_ranks_within_their_bounds() -> None:
    for row in published():
        assert 1 <= float(row["stable_rank"]) <= float(row["participation_ratio"]) <= 64


def test_rows_have_a_type_that_their_coordinates_bear_out() -> None:
    for row in published():
        a, b, c, d = coordinates(row)
        kind = head_type(np.array([a, b, c, d]))
        assert kind in ("II", "I+", "I-")
        assert (kind == "II") == ((c + d) / (1 - a) <= 0.02)
        assert kind == "II" or (kind == "I+") == (c > d)
    assert Counter(head_type(coordinates(row)) for row in published()).keys() == {"II", "I+", "I-"}


def test_a_planted_difference_of_one_percent_is_refused() -> None:
    for row in published():
        profile = coordinates(row)
        wrong = profile.copy()
        wrong[np.argmax(profile)] *= 1.01
        assert not agree(wrong, profile, PUBLISHED)


@pytest.mark.hub
@pytest.mark.parametrize("name", ["distilgpt2", "gpt2"])
def test_profiles_of_the_real_models_are_the_published_ones(name: str) -> None:
    from huggingface_hub import HfApi

    import numerics
    from numerics.forms.measure import profile

    try:
        HfApi().model_info(name, timeout=5)
    except Exception as error:  # whatever keeps the hub away; a fault of our own loader comes after it and fails
        pytest.skip(f"the Hugging Face hub is not reachable: {type(error).__name__}")
    table = profile(numerics.load_model(name)).isel(distance=0)
    for row in published():
        if row["model"] != name:
            continue
        head = table.sel(layer=int(row["layer"]), head=int(row["head"]))
        assert agree(head["profile"], coordinates(row), PUBLISHED), row
        assert agree(head["participation_ratio"], float(row["participation_ratio"]), PUBLISHED), row
        assert agree(head["stable_rank"], float(row["stable_rank"]), PUBLISHED), row
        assert agree(head["n_positive"], float(row["n_pos"]), 0.0), row
        assert agree(head["n_negative"], float(row["n_neg"]), 0.0), row
