"""A pytest plugin: which of the shared hostile cases were survived; `make hostile` loads it.

A test stands for cases by `@pytest.mark.covers("l-sigterm")`, or, if it judges many at once, by
`record_property("survived", [...])`. A case is survived if every test that stands for it passed.
Behind the table stand the figures that tests recorded under the names below, each with its goal.
They are told and not judged: what a machine needs depends on what else it does.
"""

from __future__ import annotations

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.support.hostile_cases import shared_entries

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: Final = (
    "schema",
    "regex",
    "grammar",
    "request",
    "raw",
    "tools",
    "chat",
    "parser",
    "wire",
    "load",
)

ORDINARY_BEHIND: Final = "an ordinary request behind a case, s"
REFUSED: Final = "a compiler's refusal, s of CPU"
COMPILED: Final = "a compile and its first mask, s of CPU"
SLOWEST_MASK: Final = "the slowest mask of an accepted case, s of CPU"
WORKING: Final = "cases that may be refused, and work"
SHED: Final = "an answer that there is no room, s"
FREED: Final = "from a client's going to a free place, s"
DEATH_TOLD: Final = "from an engine's death to the error in a stream, s"
HANG_TOLD: Final = "from an engine's hang to the error in a stream, s"
REPLACED: Final = "from an engine's death to the next answer, s"
SECOND_SIGNAL: Final = "from a second stop signal to the exit, s"
GAP_ALONE: Final = "between two tokens of a stream, s"
GAP_BESIDE: Final = "the same beside the slowest compile, s"
GROWN: Final = "memory grown by a storm, MB"

GOALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ORDINARY_BEHIND: "max 2",
        REFUSED: "p99 0.25, max 2",
        COMPILED: "max 2",
        SLOWEST_MASK: "max 0.05",
        WORKING: "54",
        SHED: "max 0.25",
        FREED: "max 1",
        DEATH_TOLD: "max 5",
        HANG_TOLD: "max engine_silence_s",
        REPLACED: "a start",
        SECOND_SIGNAL: "max 2",
        GAP_ALONE: "",
        GAP_BESIDE: "p99 twice that",
        GROWN: "max 256; 64 by cancelled requests",
    }
)


class Tally:
    """Gathers the outcomes of a run."""

    def __init__(self) -> None:
        self._outcomes: dict[str, set[bool]] = defaultdict(set)
        self._figures: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Any:
        report = yield
        if report.when == "call" or (report.when == "setup" and not report.passed):
            for marker in item.iter_markers("covers"):
                for name in marker.args:
                    self._outcomes[name].add(report.passed)
            for key, value in item.user_properties:
                if key == "survived" and isinstance(value, list):
                    for name in value:
                        self._outcomes[name].add(True)
                if key in GOALS and isinstance(value, float):
                    self._figures[key].append(value)
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        # Behind every other case an ordinary request was sent, which is all that this one says.
        self._outcomes["l-poison-all"] = set().union(*self._outcomes.values())
        terminalreporter.section("hostile cases survived")
        total = survived = 0
        for kind in KINDS:
            names = [entry["id"] for entry in shared_entries(kind)]
            bad = [name for name in names if self._outcomes.get(name) != {True}]
            total, survived = total + len(names), survived + len(names) - len(bad)
            missing = f"   not: {', '.join(bad[:8])}{' ...' if len(bad) > 8 else ''}" if bad else ""
            write(f"{kind:8} {len(names) - len(bad):4} of {len(names):4}{missing}")
        write(f"{'all':8} {survived:4} of {total:4}")
        write("")
        write(f"{'figure':52} {'number':>7} {'p50':>8} {'p99':>8} {'max':>8}   goal")
        for name, goal in GOALS.items():
            if values := sorted(self._figures[name]):
                p50, p99 = (values[int(share * (len(values) - 1))] for share in (0.5, 0.99))
                write(f"{name:52} {len(values):7} {p50:8.3f} {p99:8.3f} {values[-1]:8.3f}   {goal}")


def pytest_configure(config: pytest.Config) -> None:
    """Add the tally to the run."""
    config.pluginmanager.register(Tally(), "hostile-tally")
