"""The command line: what a user types, reads, and gets for a wrong argument."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerics import cli, load_model, profile, results
from numerics.errors import InvalidArgument


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numerics", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


def refused(finished: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit status 2, nothing on stdout, one line on stderr that holds the words."""
    assert finished.returncode == 2, finished.stderr
    assert finished.stdout == ""
    lines = finished.stderr.strip().splitlines()
    assert len(lines) == 1, finished.stderr
    assert "; " in lines[0], "cause and next step"
    for word in words:
        assert word in lines[0]


def loaded_by(code: str) -> set[str]:
    """Names of the heavy libraries that `code` imports, in a process of its own."""
    heavy = "{'torch', 'transformers', 'xarray', 'plotly', 'pandas', 'scipy'}"
    script = f"import sys\n{code}\nprint(*sorted({heavy} & set(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(finished.stdout.splitlines()[-1].split())


def test_version_and_help_import_no_torch() -> None:
    for argument in ("--version", "--help", "profile --help"):
        code = f"from numerics import cli\ntry: cli.app({argument.split()!r})\nexcept SystemExit: pass"
        assert loaded_by(code) == set(), argument
    assert run("--version").stdout.strip() == load_version()


def load_version() -> str:
    import numerics

    return numerics.__version__


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert loaded_by("import numerics") == set()
    assert loaded_by("import numerics.results, numerics.errors") <= {"xarray", "pandas"}


@pytest.mark.parametrize("suffix", [".nc", ".csv", ".parquet"])
def test_profile_writes_what_the_function_returns(suffix: str, tiny_llama: Path, tmp_path: Path) -> None:
    out = tmp_path / f"table{suffix}"
    finished = run("profile", tiny_llama, "--out", out, "--distances", "0:8:4", "--form", "folded")
    assert (finished.returncode, finished.stdout.strip()) == (0, str(out)), finished.stderr
    dataset = profile(load_model(str(tiny_llama)), form="folded", distances=(0, 4, 8))
    results.save(dataset, tmp_path / f"same{suffix}")
    assert out.read_bytes() == (tmp_path / f"same{suffix}").read_bytes()
    if suffix == ".nc":
        assert np.array_equal(results.load(out)["profile"], dataset["profile"])


def test_report_of_two_models(tiny_llama: Path, tmp_path: Path) -> None:
    finished = run("report", tiny_llama, tiny_llama, "--out", tmp_path / "site", "--distances", "0,1")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip() == str(tmp_path / "site" / "index.html")
    assert (tmp_path / "site" / "index.html").is_file()


def test_models_prints_the_support_table() -> None:
    finished = run("models")
    assert finished.returncode == 0
    assert finished.stdout.startswith("| model_type ")
    assert "`gemma3_text`" in finished.stdout


def test_whole_numbers() -> None:
    assert cli.whole_numbers("0") == (0,)
    assert cli.whole_numbers("2:128:2")[-1] == 128
    assert cli.whole_numbers("0,1,4:12:4,12") == (0, 1, 4, 8, 12)
    assert cli.whole_numbers("3:5") == (3, 4, 5)
    for wrong in ("", "a", "1:", "5:3", "0:8:0", "0:8:-1", "1.5", "1:2:3:4"):
        with pytest.raises(InvalidArgument, match="range like"):
            cli.whole_numbers(wrong)


def test_kernels_writes_what_the_function_returns(tmp_path: Path) -> None:
    from numerics import positional_kernels
    from tests.positional.walked import save_text, save_walkable

    folder, text = save_walkable("llama", tmp_path / "llama"), save_text(tmp_path / "words.txt", 600)
    options = ["--samples", "6", "--length", "24", "--query-texts", "3", "--queries", "7:23:8"]
    finished = run("kernels", folder, "--out", tmp_path / "k.nc", "--text", text, *options)
    assert (finished.returncode, finished.stdout.strip()) == (0, str(tmp_path / "k.nc")), finished.stderr
    same = positional_kernels(
        load_model(str(folder), dtype="float32"), [text], samples=6, length=24, query_texts=3, queries=[7, 15, 23]
    )
    results.save(same, tmp_path / "same.nc")
    assert (tmp_path / "k.nc").read_bytes() == (tmp_path / "same.nc").read_bytes()
    site = run("report", folder, tmp_path / "k.nc", "--out", tmp_path / "site", "--distances", "0")
    assert site.returncode == 0, site.stderr
    refused(run("kernels", folder, "--out", tmp_path / "n.nc", "--text", text), "chunks of 256 tokens")
    assert not (tmp_path / "n.nc").exists()


def test_decimal_numbers() -> None:
    assert cli.decimal_numbers("0:0.9:0.1") == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert cli.decimal_numbers("0.4") == (0.4,)
    assert cli.decimal_numbers("0.25,0.5,0.25,0:1") == (0.25, 0.5, 0.0, 1.0)
    for wrong in ("", "a", "0.1:", "0.5:0.3", "0:0.9:0", "nan", "0:inf", "1:2:3:4"):
        with pytest.raises(InvalidArgument, match=r"range like 0:0\.9:0\.1"):
            cli.decimal_numbers(wrong)


@pytest.fixture
def walkable_llama(tmp_path: Path) -> Path:
    from tests.positional.walked import save_walkable

    return save_walkable("llama", tmp_path / "llama")


def test_bands_writes_what_the_function_returns(walkable_llama: Path, tmp_path: Path) -> None:
    from numerics import band_metrics
    from tests.positional.walked import save_text

    text = save_text(tmp_path / "words.txt", 40)
    options = ["--tokens", "40", "--length", "16", "--metrics", "entropy,fisher"]
    finished = run("bands", walkable_llama, "--out", tmp_path / "b.csv", "--text", text, *options)
    assert (finished.returncode, finished.stdout.strip()) == (0, str(tmp_path / "b.csv")), finished.stderr
    model = load_model(str(walkable_llama), dtype="float32")
    same = band_metrics(model, [text], tokens=40, length=16, metrics=("entropy", "fisher"))
    results.save(same, tmp_path / "same.csv")
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "same.csv").read_bytes()
    refused(run("bands", walkable_llama, "--out", tmp_path / "n.nc", "--text", text), "chunk of 2048 tokens")
    assert not (tmp_path / "n.nc").exists()


def test_attribute_writes_a_file_or_prints_the_table(walkable_llama: Path, tmp_path: Path) -> None:
    from numerics import attribute

    where = [walkable_llama, "--text", "w5 w6 w7 w8", "--layer", "1", "--head", "2", "--query", "-2"]
    finished = run("attribute", *where, "--out", tmp_path / "a.csv", "--page", tmp_path / "site")
    assert finished.returncode == 0, finished.stderr
    written, page = finished.stdout.splitlines()
    assert written == str(tmp_path / "a.csv")
    assert Path(page).parent == tmp_path / "site"
    assert Path(page).is_file()
    results.save(
        attribute(load_model(str(walkable_llama), dtype="float32"), "w5 w6 w7 w8", 1, 2, 2), tmp_path / "s.csv"
    )
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "s.csv").read_bytes()
    printed = run("attribute", *where)
    assert (printed.returncode, printed.stdout) == (0, (tmp_path / "s.csv").read_text()), printed.stderr
    refused(run("attribute", *where[:-1], "4"), "none at 4")


def test_ablate_goes_on_after_an_interruption(walkable_llama: Path, tmp_path: Path) -> None:
    from numerics import ablate
    from tests.positional.walked import save_text

    rank, text = (save_text(tmp_path / f"{seed}.txt", 20, seed=seed) for seed in range(2))
    options = [
        "--fractions",
        "0:0.5:0.25",
        "--select",
        "global,head",
        "--length",
        "16",
        "--metrics",
        "activation,random",
    ]
    command = ["ablate", walkable_llama, "--rank-text", rank, "--text", text, *options, "--out", tmp_path / "s.nc"]
    unfinished = tmp_path / "s.nc.unfinished"

    class Interrupted(Exception):
        pass

    def stop(done: int, _: int) -> None:
        if done == 5:
            raise Interrupted

    model = load_model(str(walkable_llama), dtype="float32")
    given: dict[str, Any] = {"fractions": (0.0, 0.25, 0.5), "select": ("global", "head"), "length": 16}
    given |= {"metrics": ("activation", "random")}
    with pytest.raises(Interrupted):
        ablate(model, [rank], [text], **given, unfinished=unfinished, progress=stop)
    held = unfinished.read_bytes()
    refused(run(*command, "--seeds", "1"), "s.nc.unfinished", "seeds")
    assert unfinished.read_bytes() == held
    finished = run(*command)
    assert (finished.returncode, finished.stdout.strip()) == (0, str(tmp_path / "s.nc")), finished.stderr
    assert not unfinished.exists()
    results.save(ablate(model, [rank], [text], **given), tmp_path / "same.nc")
    assert (tmp_path / "s.nc").read_bytes() == (tmp_path / "same.nc").read_bytes()


class TestBadInput:
    """One line with cause and next step, exit status 2, nothing half-written."""

    def test_unknown_reference(self, tmp_path: Path) -> None:
        refused(run("profile", tmp_path / "no-such-folder", "--out", tmp_path / "t.nc"), "no-such-folder")
        assert list(tmp_path.iterdir()) == []

    def test_hub_that_cannot_be_reached(self, tmp_path: Path) -> None:
        cache = {"HF_HOME": str(tmp_path / "cache"), "HF_ENDPOINT": "http://127.0.0.1:9"}
        refused(run("profile", "nobody/nothing", "--out", tmp_path / "t.nc", **cache), "nobody/nothing")
        assert not (tmp_path / "t.nc").exists()

    def test_distances_on_a_model_without_rotary_positions(self, tmp_path: Path) -> None:
        from tests.models.tiny import save_tiny

        folder = save_tiny("gpt2", tmp_path / "gpt2")
        refused(
            run("profile", folder, "--out", tmp_path / "t.nc", "--distances", "0,1"), "learned absolute", "distances"
        )
        assert not (tmp_path / "t.nc").exists()

    def test_unknown_suffix_is_refused_before_any_work(self, tmp_path: Path) -> None:
        refused(run("profile", "no/matter", "--out", tmp_path / "t.xlsx"), ".parquet")

    def test_bands_of_a_model_without_rotary_positions(self, tmp_path: Path) -> None:
        from tests.models.tiny import save_tiny

        folder = save_tiny("gpt2", tmp_path / "gpt2")
        refused(run("bands", folder, "--out", tmp_path / "t.nc"), "learned absolute", "use a rotary model")

    def test_folder_that_cannot_be_written(self, tiny_llama: Path, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        refused(run("profile", tiny_llama, "--out", tmp_path / "file" / "t.nc"), "file")
        refused(run("report", tiny_llama, "--out", tmp_path / "file" / "site"), "file")

    def test_folder_that_is_not_a_report_is_not_replaced(self, tiny_llama: Path, tmp_path: Path) -> None:
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter.txt").write_text("precious")
        refused(run("report", tiny_llama, "--out", tmp_path / "thesis"), "thesis")
        assert (tmp_path / "thesis" / "chapter.txt").read_text() == "precious"

    @pytest.mark.parametrize("damage", ["cut", "header", "pickle", "half", "type", "gguf", "no layers"])
    def test_damaged_or_unsafe_checkpoints(self, damage: str, tiny_llama: Path, tmp_path: Path) -> None:
        folder = tmp_path / "model"
        shutil.copytree(tiny_llama, folder)
        weights, config = folder / "model.safetensors", folder / "config.json"
        reference, word = folder, "model.safetensors"
        if damage == "cut":
            weights.write_bytes(weights.read_bytes()[:-1000])
        elif damage == "header":
            weights.write_bytes(b"\xff" * 8 + weights.read_bytes()[8:])
        elif damage == "pickle":
            weights.rename(folder / "pytorch_model.bin")
            word = "pytorch_model.bin"
        elif damage == "half":
            weights.rename(folder / "model-00001-of-00002.safetensors")
            names = {"model.norm.weight": "model-00002-of-00002.safetensors"}
            (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
            word = "model-00002-of-00002.safetensors"
        elif damage == "type":
            config.write_text(json.dumps(json.loads(config.read_text()) | {"model_type": "my_own", "auto_map": {}}))
            word = "my_own"
        elif damage == "no layers":
            config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 0}))
            word = "no attention layers"
        elif damage == "gguf":
            reference = tmp_path / "model.gguf"
            reference.write_bytes(b"GGUF" + bytes(20))
            word = "model.gguf"
        refused(run("profile", reference, "--out", tmp_path / "t.nc"), word)
        assert not (tmp_path / "t.nc").exists()

    def test_a_weight_that_is_not_finite(self, tiny_llama: Path, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        folder = tmp_path / "overflowed"
        shutil.copytree(tiny_llama, folder)
        tensors = load_file(folder / "model.safetensors")
        tensors["model.layers.1.self_attn.k_proj.weight"][20, 3] = float("inf")
        save_file(tensors, folder / "model.safetensors")
        refused(run("profile", folder, "--out", tmp_path / "t.nc"), "overflowed", "W_K", "layer 1", "head 1")
        assert not (tmp_path / "t.nc").exists()

    def test_wrong_form_range_and_dtype(self, tiny_llama: Path, tmp_path: Path) -> None:
        refused(run("profile", tiny_llama, "--out", tmp_path / "t.nc", "--form", "cooked"), "cooked", "folded")
        refused(run("profile", tiny_llama, "--out", tmp_path / "t.nc", "--distances", "9:1"), "9:1")
        refused(run("profile", tiny_llama, "--out", tmp_path / "t.nc", "--distances", "-3"), "-3")
        with pytest.raises(InvalidArgument, match="float64"):
            load_model(str(tiny_llama), dtype="int8")
