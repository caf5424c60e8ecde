"""Hugging Face ids against a local stand-in for the hub; in own processes, as its client reads the environment once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerics.models.sources.hub import is_hub_id
from tests.models.sources.hub_server import Repo, serve
from tests.models.tiny import tiny_module

COMMIT = "fedcba9876543210fedcba9876543210fedcba98"
WEIGHT = "model.layers.1.self_attn.k_proj.weight"
PROGRAM = """
import json, sys
from numerics.errors import NumericsError
from numerics.models.sources import resolve
for reference, revision in json.loads(sys.argv[1]):
    try:
        source = resolve(reference, revision)
        found = {"name": source.name, "revision": source.revision, "sha256": source.sha256, "path": str(source.path),
                 "sum": float(source.weights.read("model.layers.1.self_attn.k_proj.weight").sum())}
    except NumericsError as error:
        found = {"error": type(error).__name__, "line": str(error)}
    print(json.dumps(found))
"""


def ask(home: Path, endpoint: str, *references: tuple[str, str | None], **environment: str) -> list[dict[str, Any]]:
    """What `resolve` gives or raises for each reference, in one process with this hub and caches under `home`."""
    settings = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home / "hf"),
        "NUMERICS_CACHE": str(home / "numerics"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(references)],
        env=os.environ | settings | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@dataclass
class World:
    """Two processes online, the second with one repository's download damaged on disk, then one without the hub."""

    folder: Path
    online: dict[str, dict[str, Any]]
    log: list[str]
    again: dict[str, dict[str, Any]]
    log_again: list[str]
    offline: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    base = tmp_path_factory.mktemp("hub")
    module = tiny_module("llama")
    module.save_pretrained(base / "single")
    module.save_pretrained(base / "sharded", max_shard_size="60KB")

    def files(folder: str) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted((base / folder).iterdir())}

    single, sharded = files("single"), files("sharded")
    weights = single["model.safetensors"]
    other = json.loads(single["config.json"]) | {"model_type": "mine", "auto_map": {"AutoModel": "mine.Mine"}}
    code = {"modeling_evil.py": b"raise SystemExit(9)", "pytorch_model.bin": b"\x80\x04", "onnx/model.onnx": b"0"}
    damaged = bytearray(weights)
    damaged[-5] ^= 1
    repos = {
        "team/single": Repo({**single, **code}, COMMIT, revisions=("main", "v1")),
        "team/sharded": Repo(sharded),
        "team/corrupt": Repo(single, sent={"model.safetensors": bytes(damaged)}),
        "team/pickle": Repo({"config.json": single["config.json"], "pytorch_model.bin": b"\x80\x04"}),
        "team/gguf": Repo({"tiny.Q8_0.gguf": b"GGUF"}),
        "team/empty": Repo({"README.md": b"soon"}),
        "team/remote-code": Repo({**single, "config.json": json.dumps(other).encode()}),
        "team/gated": Repo({}, status=(403, "GatedRepo")),
        "team/broken": Repo({}, status=(500, "")),
    }
    asked = [(repo, None) for repo in (*repos, "team/nothing")]
    with serve(repos) as (endpoint, log):
        answers = ask(base / "home", endpoint, *asked, ("team/single", "v1"), ("team/single", "v7"))
        online = dict(zip([*(repo for repo, _ in asked), "v1", "v7"], answers, strict=True))
        first_log = list(log)
        log.clear()
        # the second shard's bytes rot on disk, size and time unchanged but for the time's last digits
        shard = sorted(Path(online["team/sharded"]["path"]).glob("*.safetensors"))[1].resolve()
        raw = bytearray(shard.read_bytes())
        raw[-1] ^= 1
        shard.write_bytes(raw)
        again = ask(base / "home", endpoint, ("team/single", None), ("team/sharded", None))
    asked = [("team/single", None), ("team/single", COMMIT), ("team/sharded", None), ("team/new", None)]
    offline = ask(base / "home", endpoint, *asked)  # nobody listens there any more
    offline += ask(base / "home", endpoint, ("team/single", None), HF_HUB_OFFLINE="1")
    # the note is lost: the blob's name is what is left to compare with
    for note in (base / "home" / "numerics").rglob("*.json"):
        note.unlink()
    offline += ask(base / "home", endpoint, ("team/single", None), ("team/corrupt", None))
    labels = ["single", "single at commit", "sharded", "new", "HF_HUB_OFFLINE", "single by blob", "corrupt by blob"]
    return World(
        base,
        online,
        first_log,
        dict(zip(["team/single", "team/sharded"], again, strict=True)),
        list(log),
        dict(zip(labels, offline, strict=True)),
    )


def test_a_model_is_downloaded_pinned_and_hashed(world: World) -> None:
    found = world.online["team/single"]
    assert found["name"] == "team/single"
    assert found["revision"] == COMMIT
    assert found["sha256"] == hashlib.sha256((world.folder / "single" / "model.safetensors").read_bytes()).hexdigest()
    assert found["sum"] == float(tiny_module("llama").state_dict()[WEIGHT].double().numpy().sum())
    assert world.online["v1"]["revision"] == COMMIT


def test_shards_are_downloaded_and_hashed_together(world: World) -> None:
    files = sorted((world.folder / "sharded").glob("*.safetensors"))
    lines = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    assert world.online["team/sharded"]["sha256"] == hashlib.sha256(lines.encode()).hexdigest()
    assert np.isclose(world.online["team/sharded"]["sum"], world.online["team/single"]["sum"], rtol=0, atol=0)


def test_neither_code_nor_pickles_are_downloaded(world: World) -> None:
    fetched = {line.rsplit("/", 1)[1] for line in world.log if line.startswith("GET team/")}
    assert "model.safetensors" in fetched
    assert not [name for name in fetched if not name.endswith((".safetensors", ".json"))]


def test_a_file_with_another_hash_stops_the_run_and_is_named(world: World) -> None:
    found = world.online["team/corrupt"]
    assert found["error"] == "UnusableCheckpoint"
    assert "model.safetensors has not the SHA-256 that the hub states" in found["line"]


def test_bytes_that_rotted_on_disk_are_found_at_the_next_resolve(world: World) -> None:
    assert world.again["team/sharded"]["error"] == "UnusableCheckpoint"
    assert "has not the SHA-256" in world.again["team/sharded"]["line"]
    assert world.offline["sharded"]["error"] == "UnusableCheckpoint"


def test_a_second_resolve_downloads_nothing(world: World) -> None:
    assert world.again["team/single"] == world.online["team/single"]
    assert not [line for line in world.log_again if line.startswith("GET team/")]


@pytest.mark.parametrize(
    ("repo", "error", "said"),
    [
        ("team/pickle", "UnusableCheckpoint", "only as pytorch_model.bin, a format that can run code"),
        ("team/gguf", "UnusableCheckpoint", "download one (tiny.Q8_0.gguf) and give its path"),
        ("team/empty", "UnusableCheckpoint", "no safetensors weights"),
        ("team/remote-code", "UnsupportedArchitecture", "'mine' is not supported and needs Python code"),
        ("team/gated", "ModelNotFound", "is gated"),
        ("team/nothing", "ModelNotFound", "the hub has no public model team/nothing"),
        ("team/broken", "ModelNotFound", "the hub cannot be reached"),
        ("v7", "ModelNotFound", "has no revision v7"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(repo: str, error: str, said: str, world: World) -> None:
    found = world.online[repo]
    assert found["error"] == error
    assert said in found["line"]
    assert "\n" not in found["line"]


def test_an_unknown_architecture_is_refused_before_its_weights_are_fetched(world: World) -> None:
    assert [line for line in world.log if line.startswith("GET team/remote-code")] == [
        "GET team/remote-code/resolve/0123456789abcdef0123456789abcdef01234567/config.json"
    ]


@pytest.mark.parametrize("how", ["single", "single at commit", "HF_HUB_OFFLINE", "single by blob"])
def test_a_downloaded_model_works_without_the_hub(how: str, world: World) -> None:
    assert world.offline[how] == world.online["team/single"]


def test_without_the_hub_and_a_note_the_blob_name_is_the_hash(world: World) -> None:
    assert "has not the SHA-256" in world.offline["corrupt by blob"]["line"]


def test_an_unreachable_hub_says_what_works_offline(world: World) -> None:
    found = world.offline["new"]
    assert found["error"] == "ModelNotFound"
    for word in ("cannot be reached", "gemma-3-270m", "local folder", ".gguf", "HF_HUB_OFFLINE"):
        assert word in found["line"]


@pytest.mark.parametrize(
    "name", ["gpt2", "EleutherAI/pythia-70m", "a/b.c-d_e", "sentence-transformers/all-MiniLM-L6-v2"]
)
def test_hub_ids_are_recognised(name: str) -> None:
    assert is_hub_id(name)


@pytest.mark.parametrize("name", ["", "a b", "a/b/c", "-a", "a.", "a--b", "a..b", "é/x", "a/", "/a", "x" * 200, "<b>"])
def test_what_cannot_be_a_hub_id_is_not_asked_for(name: str) -> None:
    assert not is_hub_id(name)
