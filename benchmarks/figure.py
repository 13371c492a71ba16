"""What the benchmarks' figures have in common; matplotlib is imported here first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import matplotlib as mpl

mpl.use("Agg")  # a renderer without a screen, to be chosen before pyplot is imported

import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which can be told apart without colour vision too.
ORANGE: Final = "#E69F00"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
GREY: Final = "#999999"
BLACK: Final = "#000000"


def tidy(axes: Axes, *, grid: Literal["x", "y"] | None = None) -> None:
    """Take the frame's upper and right line away; draw a pale grid behind the marks."""
    axes.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        axes.grid(axis=grid, alpha=0.3)
        axes.set_axisbelow(True)


def save(figure: Figure, path: Path, *, caption: str) -> None:
    """Write a figure with a small caption below it, and close it.

    Args:
        figure: from pyplot.
        path: an .svg file.
        caption: what it ran on.
    """
    figure.supxlabel(caption, fontsize=8)
    figure.savefig(path)
    plt.close(figure)
