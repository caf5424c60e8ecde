"""Hypothesis settings of these tests: no clock, the same examples in every run, a failure that can be replayed."""

from hypothesis import settings

settings.register_profile("forms", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("forms")
