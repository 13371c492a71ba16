"""The data of the grammar benchmark is found, drawn and read as MaskBench lays it out."""

from __future__ import annotations

import gzip
import json

import pytest

from benchmarks.grammar_data import GrammarDataError, Instance, by_names, draw_sample, find_data


def write_case(folder, name, tests=()):
    content = {"schema": {"type": "object"}, "meta": {}, "tests": list(tests)}
    (folder / f"{name}.json").write_text(json.dumps(content))


@pytest.fixture
def folder(tmp_path):
    for number in range(40):
        write_case(tmp_path, f"Github_easy---o{number}")
    for number in range(10):
        write_case(tmp_path, f"BFCL_java_{number}")
    write_case(tmp_path, "MCPspec---Tool")
    return tmp_path


def test_the_subset_is_in_the_name_of_the_file(folder):
    data = find_data(folder)
    assert data.weights == {"Github_easy": 40, "BFCL": 10, "MCPspec": 1}


def test_a_sample_is_in_proportion_and_misses_no_subset(folder):
    drawn = draw_sample(find_data(folder).entries, 10, seed=1)
    subsets = [entry.subset for entry in drawn]
    assert [subsets.count(name) for name in ("Github_easy", "BFCL", "MCPspec")] == [8, 2, 1]


def test_equal_seeds_draw_equal_samples_and_larger_ones_hold_the_smaller(folder):
    entries = find_data(folder).entries
    small = draw_sample(entries, 10, seed=1)
    assert small == draw_sample(entries, 10, seed=1)
    assert small != draw_sample(entries, 10, seed=2)
    assert set(small) < set(draw_sample(entries, 20, seed=1))
    assert draw_sample(entries, 1000, seed=1) == entries


def test_documents_are_spelled_as_maskbench_spells_them(tmp_path):
    tests = [
        {"valid": True, "data": {"b": [1, 2.5], "a": "é\n"}, "description": "kept"},
        {"valid": False, "data": None},
    ]
    write_case(tmp_path, "Handwritten---a", tests)
    (entry,) = find_data(tmp_path).entries
    case = entry.read()
    assert (case.name, case.subset) == ("Handwritten---a", "Handwritten")
    assert case.schema == {"type": "object"}
    assert case.instances == (
        Instance('{"b": [1, 2.5], "a": "é\\n"}', is_valid=True),
        Instance("null", is_valid=False),
    )


def test_a_file_of_lines_has_the_weights_of_the_whole_benchmark(tmp_path):
    line = {"id": "Snowplow---b", "dataset": "Snowplow", "schema": True, "tests": []}
    text = "".join(json.dumps(line | {"id": name}) + "\n" for name in ("Snowplow---b", "a"))
    (tmp_path / "dev.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    data = find_data(tmp_path)
    assert [entry.name for entry in data.entries] == ["Snowplow---b", "a"]
    assert data.entries[0].read().schema is True
    assert data.weights["Snowplow"] == 403


def test_schemas_are_taken_by_name(folder):
    entries = find_data(folder).entries
    names = ["MCPspec---Tool", "BFCL_java_3"]
    assert [entry.name for entry in by_names(entries, names)] == names
    with pytest.raises(GrammarDataError, match=r"no schema named BFCL_java_99$"):
        by_names(entries, ["BFCL_java_3", "BFCL_java_99"])


def test_a_folder_without_data_is_refused(tmp_path):
    with pytest.raises(GrammarDataError, match=r"holds no \*\.json and no \*\.jsonl\.gz; give "):
        find_data(tmp_path)
