"""Benchmarks: each first runs the operation's correctness test, then times its paths side by side in one run."""
