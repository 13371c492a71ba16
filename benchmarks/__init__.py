"""Benchmarks: reproducible measurements of Tightrope beside its peers, reached by `tightrope bench`."""
