"""The JSON Schema Test Suite as a ratchet: worse fails, better asks for an update."""

from __future__ import annotations

import tomllib
from functools import lru_cache

import pytest

from tests.support.official_suite import COLUMNS, DRAFTS, RATCHET, judge_suite, suite_file

UPDATE = "run `python -m tests.support.official_suite` and commit the ratchet"


@lru_cache(maxsize=len(DRAFTS))
def figures(draft: str) -> dict[str, dict[str, int]]:
    if not suite_file(draft).exists():
        pytest.skip("the suite is not beside the repository")
    return {
        file: {column: found[column] for column in COLUMNS if found[column]}
        for file, found in judge_suite(draft).items()
    }


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_official_suite_comes_out_as_it_did(draft):
    assert figures(draft) == tomllib.loads(RATCHET.read_text())[draft], UPDATE


@pytest.mark.parametrize("draft", DRAFTS)
def test_no_invalid_instance_of_the_official_suite_is_accepted(draft):
    wrong = {file for file, found in figures(draft).items() if "invalid_accepted" in found}
    assert wrong <= {"optional/content.json"}  # these only annotate (Validation, section 8)


def test_nine_tenths_of_the_mandatory_tests_of_2020_12_are_right():
    mandatory = [found for file, found in figures("2020-12").items() if "/" not in file]
    right = sum(found.get("right", 0) + found.get("respelled", 0) for found in mandatory)
    assert right >= 0.9 * sum(sum(found.values()) for found in mandatory)
