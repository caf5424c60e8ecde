"""The code is held to docs/CONTRACT.md: names, defaults and results are read from the page itself."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
import xarray as xr

import numerics
from checks.__main__ import app as checks_app
from numerics import cli
from numerics.models import Model

PAGE = (Path(__file__).parents[1] / "docs" / "CONTRACT.md").read_text(encoding="utf-8")
STANDING, RESERVED = PAGE.split("### Reserved")[0], PAGE.split("### Reserved")[1].split("## Model")[0]
COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
CHECKS = typer.main.get_command(checks_app).commands  # type: ignore[attr-defined]


def rows(part: str) -> list[list[str]]:
    """Cells of the table rows that start with a command."""
    cells = (re.split(r"(?<!\\)\|", line)[1:-1] for line in part.splitlines() if line.startswith("| `"))
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in cells]


def command_words(cell: str) -> str:
    found = re.match(r"`(?:numerics|python -m checks) (\S+)", cell)
    assert found is not None, cell
    return found.group(1).rstrip("`")


def commands_of(cell: str) -> dict[str, Any]:
    return CHECKS if cell.startswith("`python -m checks") else COMMANDS


def test_commands_are_those_of_the_page() -> None:
    assert set(COMMANDS) == {command_words(row[0]) for row in rows(STANDING) if commands_of(row[0]) is COMMANDS}
    assert {command_words(row[0]) for row in rows(STANDING)} - set(COMMANDS) <= set(CHECKS)
    assert {"profile", "report", "models"} <= set(COMMANDS)


@pytest.mark.parametrize("row", rows(STANDING), ids=lambda row: command_words(row[0]))
def test_options_and_defaults_are_those_of_the_page(row: list[str]) -> None:
    command = commands_of(row[0])[command_words(row[0])]
    options = {flag: parameter for parameter in command.params for flag in parameter.opts if flag.startswith("--")}
    for flag, default in re.findall(r"\[(--[\w-]+) ([^\]]+)\]", row[0]):
        if default.isupper() or default == "F…":  # stands for what the user gives; nothing by default
            assert options[flag].default is None, flag
        else:
            assert str(options[flag].default) == default.split("|")[0], flag
    for flag in re.findall(r"(?<!\[)(--[\w-]+) F", row[0]):
        assert options[flag].required, flag


@pytest.mark.parametrize("row", rows(STANDING), ids=lambda row: command_words(row[0]))
def test_functions_take_the_arguments_of_the_page(row: list[str]) -> None:
    for path, listed in re.findall(r"`numerics\.([\w.]+)\(([^)]*)\)`", row[1]):
        function = numerics
        for name in path.split("."):
            function = getattr(function, name)
        if listed != "…":
            assert list(inspect.signature(function).parameters)[: len(listed.split(", "))] == listed.split(", ")


def test_load_model_has_the_signature_of_the_page() -> None:
    assert "`numerics.load_model(reference, dtype=None, revision=None) -> Model`" in PAGE
    parameters = inspect.signature(numerics.load_model).parameters
    assert list(parameters) == ["reference", "dtype", "revision"]
    assert parameters["dtype"].default is parameters["revision"].default is None
    assert numerics.Model is Model


def test_report_distances_are_those_of_the_page() -> None:
    from numerics.report import DEFAULT_DISTANCES

    found = re.search(r"`--distances` default ([\d,]+) on rotary models", PAGE)
    assert found is not None
    assert tuple(int(number) for number in found.group(1).split(",")) == DEFAULT_DISTANCES


def test_kernels_have_the_variables_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in a model with learned positions or in one where some dims rotate: no model has them all."""
    from numerics.positional import embedded
    from tests.positional.walked import save_text, save_walkable

    monkeypatch.setattr(embedded, "SUBSTITUTED", np.array([9, 14, 20]))  # texts here are shorter than 600 tokens
    monkeypatch.setattr(embedded, "SUBSTITUTE", "w7")
    (row,) = (row for row in rows(STANDING) if command_words(row[0]) == "kernels")
    text = save_text(tmp_path / "words.txt", 500)
    tables = []
    for case in ("gpt2", "gpt_neox"):
        model = numerics.load_model(str(save_walkable(case, tmp_path / case)))
        tables.append(numerics.positional_kernels(model, [text], samples=4, length=24, query_texts=2))
    for group in re.findall(r"`([^`]+)`", row[2]):
        names, _, dims = group.partition("(")
        for name in names.removeprefix("attrs ").strip().split(", "):
            holding = [table for table in tables if name in table or name in table.attrs]
            assert holding, name
            for table in holding:
                if dims and name in table:
                    assert table[name].dims == tuple(dims.rstrip(")").split(", ")), name
    assert {"text_sha256", "kernel_kind"} <= set(tables[0].attrs)


def test_band_commands_have_the_variables_of_the_page(tmp_path: Path) -> None:
    from tests.positional.walked import save_text, save_walkable

    model = numerics.load_model(str(save_walkable("gpt_neox", tmp_path / "gpt_neox")), dtype="float32")
    first, second = (save_text(tmp_path / f"{seed}.txt", 40, seed=seed) for seed in range(2))
    metrics = ("activation", "entropy", "fisher")
    tables = {
        "bands": numerics.band_metrics(model, [first], length=16, metrics=metrics),
        "attribute": numerics.attribute(model, "w7 w8 w9", 0, 0),
        "ablate": numerics.ablate(model, [first], [second], fractions=(0.5,), length=16),
    }
    for row in rows(STANDING):
        table = tables.pop(command_words(row[0]), None)
        if table is None:
            continue
        named = [
            group for group in re.findall(r"`([^`]+)`", row[2]) if re.fullmatch(r"[a-z_, ]+(\([a-z, ]+\))?", group)
        ]
        for group in named:
            names, _, dims = group.partition("(")
            for name in names.strip().split(", "):
                if dims:
                    assert table[name].dims == tuple(dims.rstrip(")").split(", ")), name
                else:
                    assert name in {*table.variables, *table.attrs, *table.get("metric", xr.DataArray([])).values}, name
        assert len(named) >= 3
        assert "text_sha256" in table.attrs
    assert not tables


def test_a_profile_has_the_variables_and_attrs_of_the_page(tiny_profile: xr.Dataset) -> None:
    (row,) = (row for row in rows(STANDING) if command_words(row[0]) == "profile")
    named = {name for group in re.findall(r"`([^`(]+)[^`]*`", row[2]) for name in group.split(", ")}
    assert named <= set(tiny_profile.data_vars)
    assert tiny_profile["profile"].dims == ("layer", "head", "distance", "coordinate")
    assert list(tiny_profile["coordinate"].values) == ["a", "b", "c", "d"]
    assert tiny_profile["type"].dims == ("layer", "head", "distance")
    assert tiny_profile["baseline"].dims == ("coordinate",)
    found = re.search(r"attrs of every Dataset: `([^`]+)`", PAGE)
    assert found is not None
    assert set(found.group(1).split(", ")) | {"form", "qk_norm"} <= set(tiny_profile.attrs)


def test_the_model_has_the_five_views() -> None:
    for view in ("heads", "positions", "vocabulary", "attention", "forward"):
        assert hasattr(Model, view)


def test_reserved_names_are_not_taken() -> None:
    for row in rows(RESERVED):
        assert command_words(row[0]) not in commands_of(row[0])
        for name in re.findall(r"`numerics\.(\w+)\(", row[1]):
            assert not hasattr(numerics, name)
