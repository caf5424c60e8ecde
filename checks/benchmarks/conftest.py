"""`--only`: which operations are timed."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--only", default="", help="operations with commas; all that can run here if it is not given")
