"""A bar chart as SVG, on a log scale, without any library."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLOURS: Final = (
    "#D55E00", "#E69F00", "#F0E442", "#009E73", "#0072B2", "#CC79A7", "#999999", "#000000",
)  # fmt: skip
_BAR: Final = 12
_LEFT: Final = 220
_WIDTH: Final = 620


def bar_chart(title: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """One group of bars for each entry; bars of one name share a colour.

    Args:
        title: above the chart.
        groups: group -> bar -> value, above 0.
    """
    names = list(dict.fromkeys(name for bars in groups.values() for name in bars))
    values = [value for bars in groups.values() for value in bars.values()] or [1.0]
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1
    scale = _WIDTH / (high - low)
    parts = [f'<text x="10" y="20" font-size="15">{escape(title)}</text>']
    y = 40
    for group, bars in groups.items():
        middle = y + _BAR * len(bars) / 2
        parts.append(f'<text x="{_LEFT - 8}" y="{middle}" text-anchor="end">{escape(group)}</text>')
        for name, value in bars.items():
            width = (math.log10(value) - low) * scale
            colour = _COLOURS[names.index(name) % len(_COLOURS)]
            parts.append(
                f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 2}" '
                f'fill="{colour}"/>'
                f'<text x="{_LEFT + width + 4:.1f}" y="{y + _BAR - 3}" font-size="10">'
                f"{escape(name)} {value:,.1f}</text>"
            )
            y += _BAR
        y += _BAR
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 160}" height="{y + 10}" '
        f'font-family="sans-serif" font-size="12">{"".join(parts)}</svg>\n'
    )
