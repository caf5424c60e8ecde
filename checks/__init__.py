"""Formal against numeric, and benchmarks. Run from a checkout: `python -m checks …`."""
