"""Exceptions of the project. Each message is one line: what is wrong, then what to do next."""


class NumericsError(Exception):
    """Wrong input or an unusable model. The command line prints it on one line and exits with status 2.

    `cause` says what is wrong (which file, layer, head, shape), `next_step` what the reader can do about it.
    """

    def __init__(self, cause: str, next_step: str) -> None:
        self.cause = " ".join(cause.split())
        self.next_step = " ".join(next_step.split())
        super().__init__(f"{self.cause}; {self.next_step}")


class InvalidArgument(NumericsError):
    """An argument or option that cannot be used as given."""


class ModelNotFound(NumericsError):
    """The reference names no model that can be had here."""


class UnusableCheckpoint(NumericsError):
    """The files are there but cannot be trusted or read: corrupt, incomplete, wrong hash, unsafe format."""


class UnsupportedArchitecture(NumericsError):
    """The architecture, or one of its options, is not one whose layout is known and tested."""


class UnreachableAttention(NumericsError):
    """An attention layer did not pass through the visitor exactly once per forward pass."""


class NonFiniteWeight(NumericsError):
    """A weight is NaN or infinite."""


class MissingExtra(NumericsError):
    """An optional dependency is not installed."""

    def __init__(self, needed_for: str, extra: str) -> None:
        super().__init__(f"{needed_for} needs the optional extra '{extra}'", f"run: pip install 'numerics[{extra}]'")


class UnwritableOutput(NumericsError):
    """The result cannot be written where it was asked for."""
