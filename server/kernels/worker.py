"""A worker: compiles the kernels of one module after another, as its standard input says.

A line in is a JSON list: a module, and its kernels with the types of their arguments. Lines out are
the name of each kernel when its compile begins, and an empty line when the module is done. The end
of its input ends it at once, so it does not outlive the process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from importlib import import_module
from queue import SimpleQueue
from threading import Thread

from server.kernels.table import parse_types


def main() -> None:
    """Work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it
    lines: SimpleQueue[str] = SimpleQueue()
    Thread(target=_read, args=(lines,), daemon=True).start()
    while True:
        module, kernels = json.loads(lines.get())
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
