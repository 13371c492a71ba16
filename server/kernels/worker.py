"""A worker: compiles the kernels of one module after another, as its standard input says.

A line in is a JSON list: a module, its kernels with the types of their arguments, and whether it
gives way to other processes from now on. Lines out are the name of each kernel when its compile
begins, and an empty line when the module is done. The end of its input ends it at once, so it does
not outlive the process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Final

from server.kernels.table import parse_types

_NICENESS: Final = 10


def main() -> None:
    """Work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it
    lines: SimpleQueue[str] = SimpleQueue()
    Thread(target=_read, args=(lines,), daemon=True).start()
    has_given_way = False
    while True:
        module, kernels, gives_way = json.loads(lines.get())
        if gives_way and not has_given_way:
            os.nice(_NICENESS)
            has_given_way = True
        loaded = import_module(module)
        for kernel, types in kernels.items():
            _tell(kernel)
            getattr(loaded, kernel).compile(parse_types(types))
        _tell("")


def _read(lines: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)  # also out of the middle of a compile: numba moves whole files into their places


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
