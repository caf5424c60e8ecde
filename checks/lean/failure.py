"""The one exception of the Lean runner."""


class LeanFailure(Exception):
    """Lean cannot be had, or the sources cannot be checked as they are: one line says why."""
