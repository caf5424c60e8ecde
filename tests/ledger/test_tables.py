"""The statements about saved tables hold on tiny models, and each notices a number that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from checks.ledger import tables
from checks.ledger.entries import TABLES
from numerics import Model, band_metrics, head_circuits, positional_kernels, profile
from numerics.errors import InvalidArgument
from numerics.results import save
from tests.positional.walked import save_text

Load = Callable[[str], Model]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [save_text(tmp_path_factory.mktemp("text") / "words.txt", 2000)]


@pytest.fixture(scope="module")
def of_llama(walkable: Load, text: list[Path]) -> dict[str, xr.Dataset]:
    return results(walkable("llama"), text)


def results(model: Model, text: list[Path]) -> dict[str, xr.Dataset]:
    """By function; no bands of a model without rotary positions."""
    found = {
        "profile": profile(model, distances=(0,) if model.positions.rotary(0) is None else (0, 3)),
        "positional_kernels": positional_kernels(model, text, samples=6, length=24, query_texts=4),
        "head_circuits": head_circuits(model, period=8, seeds=2, texts=0),
    }
    if model.positions.rotary(0) is not None:
        found["band_metrics"] = band_metrics(model, text, tokens=48, length=24)
    return found


def failing(made: dict[str, xr.Dataset], sha256: str) -> set[str]:
    found = tables.measure(list(made.values()), TABLES, sha256)
    return {measured.entry.claim for measured in found if measured.holds is False}


@pytest.mark.parametrize("case", ["llama", "bert", "gemma2", "gpt2", "bloom"])
def test_every_statement_holds(case: str, walkable: Load, text: list[Path]) -> None:
    model = walkable(case)
    made = results(model, text)
    assert failing(made, model.sha256) == set()
    for measured in tables.measure(list(made.values()), TABLES, model.sha256):
        name = measured.entry.functions[0]
        assert (measured.holds is True) == (name in made), measured.entry.claim


def up(values: np.ndarray) -> np.ndarray:
    """Every number larger by 1 % of the largest."""
    return values + 0.01 * np.nanmax(np.abs(values))


FAULTS: list[tuple[str, str, Callable[[np.ndarray], np.ndarray], str]] = [
    ("profile", "profile", up, "(a, b, c, d) ≥ 0 with sum 1"),
    ("profile", "symmetric_energy", up, "symmetric energy, pairing and balance"),
    ("profile", "pairing", up, "symmetric energy, pairing and balance"),
    ("profile", "balance", up, "symmetric energy, pairing and balance"),
    ("profile", "symmetric_spectrum", lambda x: np.roll(x, 1, axis=1), "those of the saved spectrum"),
    ("profile", "symmetric_spectrum", lambda x: np.abs(x), "those of the saved spectrum"),
    ("positional_kernels", "kernel", up, "kernels are ≥ 0 and sum to 1"),
    ("positional_kernels", "kernel_gallery", up, "kernels are ≥ 0 and sum to 1"),
    ("positional_kernels", "etc", lambda x: 1 / x**2, "1 ≤ ETC"),
    ("positional_kernels", "etc", lambda x: 24 * x, "1 ≤ ETC"),
    ("positional_kernels", "tv_kernel", lambda x: -x, "lie in [0, 1]"),
    ("positional_kernels", "sink_mass", lambda x: x + 1, "lie in [0, 1]"),
    ("positional_kernels", "chebyshev", lambda x: x + 1, "lie in [0, 1]"),
    ("positional_kernels", "denominator_mean", up, "mean and deviation of Z"),
    ("positional_kernels", "denominator_sd", up, "mean and deviation of Z"),
    ("positional_kernels", "exceedance", lambda x: x * 0 + np.linspace(0, 1, x.shape[-1]), "do not rise"),
    ("positional_kernels", "hoeffding", lambda x: 1 - x, "do not rise"),
    ("band_metrics", "entropy", up, "entropy shares sum"),
    ("band_metrics", "entropy_unrotated", lambda x: x + 0.01, "entropy shares sum"),
    ("band_metrics", "entropy_change", lambda x: -x, "H ≤ log N"),
    ("band_metrics", "wavelength", up, "wavelength × frequency"),
    ("head_circuits", "composition", lambda x: x + 1, "composition scores lie in [0, 1]"),
    ("head_circuits", "behaviour", lambda x: -x, "behaviours are shares"),
]


@pytest.mark.parametrize(("function", "variable", "fault", "claim"), FAULTS)
def test_a_wrong_number_is_noticed(
    function: str, variable: str, fault: Callable[[np.ndarray], np.ndarray], claim: str, of_llama: dict[str, xr.Dataset]
) -> None:
    table = of_llama[function].copy(deep=True)
    if variable in table.coords:
        table = table.assign_coords({variable: (table[variable].dims, fault(table[variable].values))})
    else:
        table[variable] = (table[variable].dims, fault(table[variable].values))
    assert [found for found in failing({function: table}, table.attrs["sha256"]) if claim in found], variable


def test_every_statement_has_a_fault_that_it_notices() -> None:
    assert [e.claim for e in TABLES if not any(f == e.functions[0] and c in e.claim for f, _, _, c in FAULTS)] == []


def test_a_table_of_other_weights_says_nothing(walkable: Load) -> None:
    table = profile(walkable("gpt2"))
    found = tables.measure([table], TABLES, "0" * 64)
    assert all(measured.holds is None for measured in found)
    assert {reason for measured in found for reason in measured.unsuited} == {"no table of it was given"}


def test_a_folder_of_results_is_read_and_one_without_is_refused(tmp_path: Path, walkable: Load) -> None:
    with pytest.raises(InvalidArgument, match=r"holds no result of numerics as \.nc"):
        tables.read(tmp_path)
    xr.Dataset(attrs={"created_by": "another program"}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(InvalidArgument, match="holds no result"):
        tables.read(tmp_path)
    table = profile(walkable("gpt2"))
    save(table, tmp_path / "heads.nc")
    (found,) = tables.read(tmp_path)
    xr.testing.assert_identical(found, table)
    assert tables.created_by([found], walkable("gpt2").sha256) == [table.attrs["created_by"]]
