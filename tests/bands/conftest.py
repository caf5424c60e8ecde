"""Tiny rotary models with a tokenizer, loaded once in float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from numerics import Model, load_model
from tests.positional.walked import save_walkable


@pytest.fixture(scope="session")
def walkable(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Model]:
    folder, loaded = tmp_path_factory.mktemp("walkable"), dict[str, Model]()

    def load(case: str) -> Model:
        if case not in loaded:
            loaded[case] = load_model(str(save_walkable(case, folder / case)), dtype="float64")
        return loaded[case]

    return load
