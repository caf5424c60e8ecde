"""What an interrupted sweep has done so far, in one file beside its result."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numerics.errors import InvalidArgument, UnwritableOutput


class Unfinished:
    """A JSON file with the arguments of a run and what of it is done, replaced in one step at every `keep`.

    Floats are written with all their digits, so a run that is taken up again gives the bytes of one that never
    stopped. Without a path everything is kept in memory alone. Raises InvalidArgument if the file is of a run with
    other arguments (nothing of it is lost or mixed in), UnwritableOutput.
    """

    def __init__(self, path: str | os.PathLike[str] | None, arguments: dict[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.arguments = json.loads(json.dumps(arguments))  # as it will be read back
        self.done: dict[str, Any] = {}
        if self.path is not None and self.path.exists():
            self.done = self._read(self.path)

    def kept(self, name: str, compute: Callable[[], Any]) -> Any:
        """What is kept under `name`; computed and kept if nothing is."""
        if name not in self.done:
            self.keep(name, compute())
        return self.done[name]

    def keep(self, name: str, value: Any) -> None:
        self.done[name] = value
        if self.path is None:
            return
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        try:
            partial.write_text(json.dumps({"arguments": self.arguments, "done": self.done}), encoding="utf-8")
            partial.replace(self.path)
        except OSError as error:
            raise UnwritableOutput(
                f"{self.path} cannot be written ({error.strerror or error})", "choose a folder you may write to"
            ) from error
        finally:
            partial.unlink(missing_ok=True)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            arguments, done = held["arguments"], held["done"]
            names = sorted({*arguments, *self.arguments})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidArgument(f"{path} is not the file of an interrupted run ({error})", "move it away") from error
        other = [name for name in names if arguments.get(name) != self.arguments.get(name)]
        if other:
            raise InvalidArgument(
                f"{path} is of an interrupted run with another {', '.join(other)}",
                "run that again to finish it, delete the file to give it up, or write elsewhere",
            )
        return dict(done)
