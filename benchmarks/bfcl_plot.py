"""The figure of the evaluation: right answers and valid calls by category, in every mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import matplotlib.pyplot as plt
from matplotlib.patches import Patch

from benchmarks.bfcl_answer import Mode
from benchmarks.bfcl_result import ALL
from benchmarks.figure import BLUE, GREY, VERMILION, save, tidy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.bfcl_result import Score

_COLOURS: Final = {Mode.FREE: GREY, Mode.AUTO: BLUE, Mode.REQUIRED: VERMILION}


def save_plot(scores: Sequence[Score], path: Path, *, caption: str) -> None:
    """Draw a row of panels per model: right answers, and valid calls among those written.

    Args:
        scores: of all models, categories and modes.
        path: an .svg file.
        caption: what it ran on, under the panels.
    """
    models = list(dict.fromkeys(score.model for score in scores))
    categories = list(dict.fromkeys(score.category for score in scores if score.category != ALL))
    figure, panels = plt.subplots(
        len(models), 2, figsize=(12, 0.8 + len(models) * (0.6 + 0.45 * len(categories))),
        sharey=True, sharex=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    for model, (right, valid) in zip(models, panels, strict=True):
        for score in scores:
            if score.model == model and score.category != ALL:
                y = categories.index(score.category)
                _draw(right, y, score.mode, score.num_right, score.num_cases)
                _draw(valid, y, score.mode, score.num_valid_calls, score.num_calls)
        right.set(title=f"{model}: answers that are right, %")
        valid.set(title=f"{model}: calls that are valid under their schema, %")
        right.set_yticks(range(len(categories)), categories)
    panels[0][0].invert_yaxis()
    for axes in panels.flat:
        axes.set_xlim(0, 112)
        axes.set_xticks(range(0, 101, 20))
        tidy(axes)
    handles = [
        Patch(color=_COLOURS[mode], label=mode)
        for mode in Mode
        if any(score.mode is mode for score in scores)
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    save(figure, path, caption=f"{caption}.  Numbers: right of cases, valid of written calls.")


def _draw(axes: Axes, y: int, mode: Mode, part: int, whole: int) -> None:
    place = y + (list(Mode).index(mode) - 1) * 0.27
    share = 100 * part / whole if whole else 0.0
    axes.barh(place, share, height=0.25, color=_COLOURS[mode])
    axes.text(share + 1, place, f"{part}/{whole}", va="center", fontsize=7)
