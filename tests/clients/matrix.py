"""Pytest plugin: what was run with which client goes into the table of docs/clients.md.

A module of tests is one client, its constant `CLIENT`; the version is that of what is installed.
A run replaces the rows of the clients that it ran whole, so the table holds nothing but
results.
"""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

PAGE = Path(__file__).resolve().parents[2] / "docs/clients.md"
HEADER = "| client | version | what | result |\n| --- | --- | --- | --- |\n"


@dataclass(frozen=True, slots=True)
class Client:
    """What is run: a package, and the version of it that is installed."""

    name: str
    version: str


def python_client(name: str) -> Client:
    """A package of the environment that the tests run in."""
    return Client(name, importlib.metadata.version(name))


@dataclass(frozen=True, order=True, slots=True)
class Row:
    """One test.

    Args:
        client: package.
        version: of the package that was run.
        what: the name of the test.
        result: `passed`, `failed`, or `skipped` with the reason.
    """

    client: str
    version: str
    what: str
    result: str

    def line(self) -> str:
        """As a row of the table."""
        return f"| {self.client} | {self.version} | {self.what} | {self.result} |\n"


def read_rows(page: str) -> list[Row]:
    """The rows of the page's table."""
    table = page.partition(HEADER)[2]
    lines = re.findall(r"^\| (.*) \|$", table, re.MULTILINE)
    return [Row(*line.split(" | ")) for line in lines]


def with_rows(page: str, rows: Iterable[Row]) -> str:
    """The page with these rows as its table, which stands at the end."""
    return page.partition(HEADER)[0] + HEADER + "".join(row.line() for row in sorted(rows))


def what_of(test_name: str) -> str:
    """A test's name as a sentence."""
    return test_name.removeprefix("test_").replace("_", " ")


class Matrix:
    """Collects the results of a run, and writes them when it has ended."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._is_whole = True

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Parts of a client are no row's replacement."""
        self._is_whole = not items

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Function, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note what a test has come to."""
        report = yield
        if report.when == "call" or not report.passed:
            self._rows[item.nodeid] = _row(item, report)
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the table, unless the run was cut short."""
        if not self._is_whole or len(self._rows) < session.testscollected or not self._rows:
            return
        page = PAGE.read_text()
        ran = {row.client for row in self._rows.values()}
        kept = [row for row in read_rows(page) if row.client not in ran]
        PAGE.write_text(with_rows(page, [*kept, *self._rows.values()]))


def _row(item: pytest.Function, report: pytest.TestReport) -> Row:
    result: str = report.outcome
    if report.skipped and isinstance(report.longrepr, tuple):
        result = f"skipped: {report.longrepr[2].removeprefix('Skipped: ')}"
    client: Client = item.module.CLIENT
    return Row(client.name, client.version, what_of(item.name), result)


def pytest_configure(config: pytest.Config) -> None:
    """Collect the results of the whole run."""
    config.pluginmanager.register(Matrix())
