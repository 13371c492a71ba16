"""Kernels: numba's machine code on disk, made by several processes at a first start."""
