"""Saving and loading: whole or not at all, the same bytes for the same result, tables with one row per head."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import xarray as xr

from numerics import results
from numerics.errors import InvalidArgument, UnwritableOutput
from numerics.results import check_writable, load, save, to_table

LAYERS, HEADS, DISTANCES = 2, 3, 2


def made_up() -> xr.Dataset:
    """A result as `profile` makes them; layer 0 lacks head 2, head 1.1 is zero."""
    rng = np.random.default_rng(0)
    rows = ("layer", "head", "distance")
    shape = (LAYERS, HEADS, DISTANCES)
    profile, trace, counts = rng.random((*shape, 4)), rng.standard_normal(shape), np.full(shape, 5.0)
    kinds = np.full(shape, "antisymmetric", dtype="<U13")
    profile[0, 2] = trace[0, 2] = counts[0, 2] = np.nan
    kinds[0, 2] = ""
    profile[1, 1] = trace[1, 1] = np.nan
    counts[1, 1], kinds[1, 1] = 0, "zero"
    return xr.Dataset(
        {
            "profile": ((*rows, "coordinate"), profile),
            "trace_ratio": (rows, trace),
            "n_positive": (rows, counts, {"units": results.COUNT}),
            "type": (rows, kinds),
            "baseline": ("coordinate", [0.4, 0.3, 0.2, 0.1]),
            "symmetric_spectrum": (
                ("layer", "head", "eigenvalue"),
                rng.random((LAYERS, HEADS, 400)).astype(np.float32),
            ),
        },
        coords={
            "layer": range(LAYERS),
            "head": range(HEADS),
            "distance": [0, 8],
            "coordinate": list(results.COORDINATES),
            "stack": ("layer", ["encoder", "decoder"]),
        },
        attrs={"model": "né<b>", "source": "here", "form": "raw", "zero_heads": 1},
    )


def test_netcdf_gives_back_what_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "profile.nc"
    save(made_up(), path)
    back = load(path)
    path.unlink()  # it is in memory, not tied to the file
    xr.testing.assert_identical(
        back.drop_vars(["type", "stack", "coordinate"]), made_up().drop_vars(["type", "stack", "coordinate"])
    )
    for name in ("type", "stack", "coordinate"):
        assert back[name].dims == made_up()[name].dims
        assert back[name].values.tolist() == made_up()[name].values.tolist()
    assert back["symmetric_spectrum"].dtype == np.float32
    assert back.attrs["zero_heads"] == 1


def test_saved_twice_is_saved_alike(tmp_path: Path) -> None:
    path = tmp_path / "profile.nc"
    save(made_up(), path)
    again = tmp_path / "again.nc"
    save(load(path), again)
    assert load(again).identical(load(path))


@pytest.mark.parametrize("suffix", results.SUFFIXES)
def test_same_result_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"a{suffix}", tmp_path / f"another name{suffix}"
    save(made_up(), first)
    os.environ["SOURCE_DATE_EPOCH"] = "1"  # nothing may depend on a clock, nor on the name
    try:
        save(made_up(), second)
    finally:
        del os.environ["SOURCE_DATE_EPOCH"]
    assert first.read_bytes() == second.read_bytes()
    changed = made_up()
    changed["trace_ratio"][1, 2, 1] += 1e-12
    save(changed, second)
    assert first.read_bytes() != second.read_bytes()


def expected_rows() -> list[tuple[int, int, int]]:
    return [(layer, head, δ) for layer in range(2) for head in range(3) for δ in (0, 8) if (layer, head) != (0, 2)]


def test_table_has_one_row_per_layer_head_and_distance() -> None:
    table = to_table(made_up())
    assert list(table.columns) == [
        *("model", "layer", "head", "distance", "stack"),
        *("a", "b", "c", "d", "trace_ratio", "n_positive", "type"),
    ]
    assert list(zip(table["layer"], table["head"], table["distance"], strict=True)) == expected_rows()
    assert table["n_positive"].dtype == np.int64
    assert set(table["model"]) == {"né<b>"}
    for row in table.itertuples():
        at = made_up().sel(layer=row.layer, head=row.head, distance=row.distance)
        assert row.stack == at["stack"].item()
        assert row.type == at["type"].item()
        np.testing.assert_array_equal([row.a, row.b, row.c, row.d], at["profile"].values)
        np.testing.assert_array_equal(row.trace_ratio, at["trace_ratio"].item())


def test_zero_head_stays_in_the_table_and_lacking_head_does_not() -> None:
    table = to_table(made_up())
    zero = table[table["type"] == "zero"]
    assert len(zero) == DISTANCES
    assert zero["a"].isna().all()
    assert not ((table["layer"] == 0) & (table["head"] == 2)).any()


def test_table_without_distance() -> None:
    table = to_table(made_up().isel(distance=0, drop=True))
    assert list(table.columns[:4]) == ["model", "layer", "head", "stack"]
    assert len(table) == LAYERS * HEADS - 1


def test_csv_and_parquet_hold_every_digit(tmp_path: Path) -> None:
    table = to_table(made_up())
    save(made_up(), tmp_path / "t.csv")
    save(made_up(), tmp_path / "t.parquet")
    csv = pd.read_csv(tmp_path / "t.csv")
    parquet = pd.read_parquet(tmp_path / "t.parquet")
    for read in (csv, parquet):
        assert list(read.columns) == list(table.columns)
        for name in table.columns:
            assert read[name].equals(table[name]) or read[name].tolist() == table[name].tolist(), name
    assert b"\r" not in (tmp_path / "t.csv").read_bytes()


def test_parquet_keeps_the_provenance(tmp_path: Path) -> None:
    save(made_up(), tmp_path / "t.parquet")
    metadata = json.loads(pq.read_schema(tmp_path / "t.parquet").metadata[b"pandas"])
    assert metadata["attributes"] == {"model": "né<b>", "source": "here", "form": "raw"}


def test_result_without_heads_has_no_table(tmp_path: Path) -> None:
    plain = xr.Dataset({"nll": ("seed", [1.0, 2.0])})
    with pytest.raises(InvalidArgument, match=r"no table of heads; write a \.nc file"):
        save(plain, tmp_path / "nll.csv")
    assert list(tmp_path.iterdir()) == []
    save(plain, tmp_path / "nll.nc")
    assert load(tmp_path / "nll.nc").identical(plain)


@pytest.mark.parametrize("name", ["profile.json", "profile", "profile.nc.gz", "profile.NC"])
def test_unknown_suffix(tmp_path: Path, name: str) -> None:
    for act in (check_writable, lambda path: save(made_up(), path)):
        with pytest.raises(InvalidArgument, match=r"use one of \.nc, \.csv, \.parquet"):
            act(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", results.SUFFIXES)
def test_place_that_cannot_be_written(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / f"folder{suffix}").mkdir()
    places = {
        tmp_path / "missing" / f"x{suffix}": "does not exist",
        tmp_path / "file" / f"x{suffix}": "does not exist",
        tmp_path / f"folder{suffix}": "is a folder",
        Path("/proc") / f"x{suffix}": "cannot be written",
    }
    for place, said in places.items():
        for act in (check_writable, lambda path: save(made_up(), path)):
            with pytest.raises(UnwritableOutput, match=said) as caught:
                act(place)
            assert "\n" not in str(caught.value)


def test_checking_leaves_no_trace_and_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text("kept")
    assert check_writable(str(path)) == path
    assert [p.name for p in tmp_path.iterdir()] == ["old.csv"]
    assert path.read_text() == "kept"


@pytest.mark.parametrize("suffix", results.SUFFIXES)
def test_failure_half_way_leaves_the_old_file(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"old{suffix}"
    path.write_text("kept")

    def breaks(self: object, file: Path, *arguments: object, **more: object) -> None:
        Path(file).write_text("half")
        raise OSError(28, "No space left on device")

    for owner, method in ((xr.Dataset, "to_netcdf"), (pd.DataFrame, "to_csv"), (pd.DataFrame, "to_parquet")):
        monkeypatch.setattr(owner, method, breaks)
    with pytest.raises(UnwritableOutput, match="No space left on device"):
        save(made_up(), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "kept"


@pytest.mark.parametrize("suffix", results.SUFFIXES)
def test_saved_file_has_ordinary_permissions(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "ordinary").touch()
    save(made_up(), tmp_path / f"x{suffix}")
    ordinary, saved = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ordinary", f"x{suffix}"))
    assert saved == ordinary


def test_load_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    damaged, whole = tmp_path / "damaged.nc", tmp_path / "whole.nc"
    save(made_up(), whole)
    damaged.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    for path, said in (
        (damaged, "cannot be read"),
        (tmp_path / "none.nc", "no file"),
        (tmp_path / "t.csv", "not a .nc"),
    ):
        with pytest.raises(InvalidArgument, match=said) as caught:
            load(path)
        assert "\n" not in str(caught.value)


def test_texts_do_not_swell_the_file(tmp_path: Path) -> None:
    """1280 heads at 15 distances: 19 200 texts in at most 3 bytes each (13 characters in memory)."""
    shape = (40, 32, 15)
    kinds = np.where(np.random.default_rng(0).random(shape) < 0.5, "II", "antisymmetric")
    save(xr.Dataset({"type": (("layer", "head", "distance"), kinds)}), tmp_path / "types.nc")
    assert (tmp_path / "types.nc").stat().st_size < 60_000
    assert load(tmp_path / "types.nc")["type"].values.tolist() == kinds.tolist()


def test_import_is_light() -> None:
    import subprocess
    import sys

    script = (
        "import sys, numerics.results; print([m for m in ('xarray', 'pandas', 'torch', 'h5py') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_kinds_and_their_deviations_are_columns() -> None:
    """A CSV of circuits had no behaviours in it."""
    rows = ("layer", "head", "kind")
    values = np.arange(12.0).reshape(2, 3, 2)
    dataset = xr.Dataset(
        {
            "behaviour": (rows, values),
            "behaviour_sd": (rows, -values),
            "copying": (("layer", "head"), np.ones((2, 3))),
            "composition": (("layer", "head", "composition_kind"), values),
        },
        coords={"layer": [0, 1], "head": [0, 1, 2], "kind": ["induction", "sink"], "composition_kind": ["Q", "K"]},
        attrs={"model": "m"},
    )
    table = results.to_table(dataset)
    names = ["induction", "sink", "induction_sd", "sink_sd", "copying"]
    assert list(table.columns) == ["model", "layer", "head", *names]
    assert table["sink"].tolist() == [1, 3, 5, 7, 9, 11]
    assert table["induction_sd"].tolist() == [0, -2, -4, -6, -8, -10]
