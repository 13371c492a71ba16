"""Benchmarks: reproducible measurements beside peers, reached by `tightrope bench`."""
