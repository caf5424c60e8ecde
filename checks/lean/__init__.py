"""The theorems of `Formal/`, built, audited and counted by a real Lean."""

from checks.lean.command import lean, run

__all__ = ["lean", "run"]
