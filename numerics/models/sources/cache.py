"""The user's cache: converted models and notes of what was verified, each put there in one atomic step."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from numerics.errors import UnwritableOutput

ABANDONED_AFTER = 24 * 3600.0  # seconds


def cache_root() -> Path:
    """`$NUMERICS_CACHE`, or the platform's cache folder for numerics."""
    chosen = os.environ.get("NUMERICS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("numerics"))


@contextmanager
def publish(target: Path) -> Iterator[Path]:
    """Give an empty folder beside `target`; when the body ends well it becomes `target`, else it vanishes.

    A reader sees the whole folder or none. If another process was first, its folder stays and ours is dropped: both
    were made from the same verified input. Folders of processes that were killed are removed a day later.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(target.parent)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
    except OSError as error:
        raise _unwritable(target.parent, error) from error
    try:
        yield work
        work.chmod(0o755)  # mkdtemp's 0700 would shut out the other users of a shared cache
        try:
            work.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    except OSError as error:
        raise _unwritable(target.parent, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def discard(folder: Path) -> None:
    """Remove a folder of the cache in one step: it is renamed first, so that nobody sees half of it."""
    if not folder.exists():
        return
    try:
        trash = Path(tempfile.mkdtemp(prefix=f".{folder.name}.partial-", dir=folder.parent))
        with suppress(FileNotFoundError):  # another process was faster
            folder.rename(trash / "old")
        shutil.rmtree(trash, ignore_errors=True)
    except OSError as error:
        raise _unwritable(folder.parent, error) from error


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(".*.partial-*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > ABANDONED_AFTER:
                shutil.rmtree(folder, ignore_errors=True)


def _unwritable(folder: Path, error: OSError) -> UnwritableOutput:
    return UnwritableOutput(
        f"the cache folder {folder} cannot be written ({error.strerror or error})",
        "make room or set NUMERICS_CACHE to a folder that can be written",
    )
