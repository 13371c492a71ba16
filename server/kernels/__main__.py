"""`python -m server.kernels`: compile the kernels that are not on disk, ahead of a first start."""

from __future__ import annotations

import sys

from server.kernels.precompile import compiling_kernels
from server.kernels.table import KERNELS


def main() -> None:
    """Compile, one line a kernel."""

    def announce(line: str) -> None:
        sys.stderr.write(f"{line}\n")

    with compiling_kernels(KERNELS, announce) as wait:
        wait(KERNELS)


if __name__ == "__main__":
    main()
