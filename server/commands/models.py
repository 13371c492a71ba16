"""`tightrope models`: what can be asked for by name, and what is on this disk already."""

from __future__ import annotations

import argparse
import os

from rich.console import Console
from rich.table import Table

from server.models.cache import ModelCache, cache_root
from server.models.catalog import BUILTIN_MODELS, DEFAULT_MODEL


def main(arguments: list[str]) -> int:
    """Print a table of the built-in models and one of the cached folders."""
    argparse.ArgumentParser(
        prog="tightrope models", description="List the built-in models and what is cached."
    ).parse_args(arguments)
    cache = ModelCache(cache_root(os.environ))
    console = Console(highlight=False, markup=False)
    console.print(_builtin_table(cached=set(cache.names())))
    console.print(f"Converted models are kept in {cache.models_folder}:", soft_wrap=True)
    for name in cache.names():
        console.print(f"  {name}", soft_wrap=True)
    return 0


def _builtin_table(cached: set[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("download", justify="right", no_wrap=True)
    table.add_column("cached", no_wrap=True)
    table.add_column("licence", no_wrap=True)
    table.add_column("what it is")
    for model in BUILTIN_MODELS.values():
        num_bytes = sum(wheel.num_bytes for wheel in model.wheels)
        table.add_row(
            model.name + (" (default)" if model.name == DEFAULT_MODEL else ""),
            f"{num_bytes / 1e6:.0f} MB",
            "yes" if model.name in cached else "no",
            model.licence,
            model.description,
        )
    return table
