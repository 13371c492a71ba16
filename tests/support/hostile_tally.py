"""A pytest plugin: which of the shared hostile cases were survived; `make hostile` loads it.

A test stands for cases by `@pytest.mark.covers("l-sigterm")`, or, if it judges many at once, by
`record_property("survived", [...])`. A case is survived if every test that stands for it passed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.support.hostile_cases import shared_entries

KINDS = (
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


class Tally:
    """Gathers the outcomes of a run."""

    def __init__(self) -> None:
        self._outcomes: dict[str, set[bool]] = defaultdict(set)
        self._seconds: list[float] = []

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
                if key == "ordinary_s" and isinstance(value, float):
                    self._seconds.append(value)
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
        if self._seconds:
            write(f"slowest ordinary request behind a case: {max(self._seconds):.2f} s")


def pytest_configure(config: pytest.Config) -> None:
    """Add the tally to the run."""
    config.pluginmanager.register(Tally(), "hostile-tally")
