"""Every fault of other servers and grammar compilers is a test here that is named by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LIST = TESTS.parents[1] / "shared/reference/known-faults.md"

_IN_NAMES = re.compile(r"def test_\w*")
_IN_CASES = re.compile(r"""["']B(\d{3}) """)
_IN_TABLES = re.compile(r"\bB(\d{3})\b")


def named_faults() -> set[int]:
    """The numbers in the names of tests (`test_b012_...`) and of their cases ("B012 ..."), and in
    the tables of cases.
    """
    found: set[int] = set()
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text()
        names = " ".join(_IN_NAMES.findall(text))
        found |= {int(number) for number in re.findall(r"_b(\d{3})(?=_)", names)}
        found |= {int(number) for number in _IN_CASES.findall(text)}
    for path in (TESTS / "data").glob("*.toml"):
        found |= {int(number) for number in _IN_TABLES.findall(path.read_text())}
    return found


def test_every_known_fault_is_a_test_named_by_it():
    if not LIST.exists():
        pytest.skip("the list of known faults is not beside the repository")
    listed = re.findall(r"^\| B(\d{3}) \|", LIST.read_text(), re.MULTILINE)
    wanted = {int(number) for number in listed}
    assert wanted
    assert sorted(wanted - named_faults()) == []
