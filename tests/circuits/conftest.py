"""The tiny models of the model layer's tests."""

from tests.models.conftest import ids, tiny

__all__ = ["ids", "tiny"]
