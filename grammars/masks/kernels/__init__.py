"""The walk: numba kernels that read tokens with the automaton; `reference` is its plain form."""
