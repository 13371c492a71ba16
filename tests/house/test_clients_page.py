"""The table of docs/clients.md is of the tests and the releases that are here, and all passed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.clients.matrix import PAGE, Row, read_rows, what_of, with_rows

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "tests/clients"


def test_every_test_has_its_rows_and_every_row_its_test():
    tests = {
        what_of(name)
        for path in CLIENTS.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    rows = read_rows(PAGE.read_text())
    assert {row.what.partition("[")[0] for row in rows} == tests
    assert [row for row in rows if row.result != "passed"] == []


def test_the_versions_are_those_that_are_pinned():
    requirements = "".join(
        (ROOT / "requirements" / name).read_text()
        for name in ("clients-instructor.txt", "clients.txt")
    )
    pinned = dict(re.findall(r"^([\w-]+)(?:\[.*\])?==(\S+)$", requirements, re.MULTILINE))
    package = json.loads((CLIENTS / "node/package.json").read_text())
    pinned |= {f"{name} (Node)": version for name, version in package["dependencies"].items()}
    for row in read_rows(PAGE.read_text()):
        assert row.version == pinned[row.client]


def test_a_page_keeps_its_text_and_gets_its_rows():
    row = Row("a", "1", "b c", "passed")
    other = Row("a", "1", "a[x-y]", "skipped: why")
    page = with_rows("# Title\n\ntext\n\n", [row, other])
    assert read_rows(page) == [other, row]
    assert with_rows(page, read_rows(page)) == page
    assert page.startswith("# Title\n\ntext\n\n| client |")
