"""Calls are judged by the leaderboard's rules, and the evaluation counts what it says."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from benchmarks import bfcl
from benchmarks.bfcl_score import Call, is_right, is_valid
from tests.support.chat_server import make_services
from tests.support.shared_data import shared_file

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "area",
            "parameters": {
                "type": "object",
                "properties": {
                    "shape": {"type": "string"},
                    "sides": {"type": "array", "items": {"type": "number"}},
                    "unit": {"type": "string"},
                    "exact": {"type": "boolean"},
                },
                "required": ["shape"],
            },
        },
    }
]
CASE = {
    "category": "own",
    "messages": [{"role": "user", "content": "How large is it?"}],
    "tools": TOOLS,
    "name_map": {"area": "geometry.area"},
    "expect": "call",
    "ground_truth": [
        {
            "geometry.area": {
                "shape": ["Right Triangle"],
                "sides": [[3, 4, 5.0]],
                "unit": ["cm", ""],
                "exact": ["", True],
            }
        }
    ],
}


def call(**arguments):
    return Call("area", json.dumps(arguments))


@pytest.mark.parametrize(
    ("calls", "right"),
    [
        ([call(shape="right triangle", sides=[3, 4, 5])], True),
        ([call(shape="right-triangle", sides=[3, 4, 5], unit="CM", exact=True)], True),
        ([call(shape="triangle", sides=[3, 4, 5])], False),
        ([call(shape="right triangle", sides=[3, 4])], False),
        ([call(shape="right triangle", sides=[3, 4, 5], unit="m")], False),
        ([call(shape="right triangle", sides=[3, 4, 5], exact=1)], False),
        ([call(shape="right triangle", sides=[3, 4, 5], colour="red")], False),
        ([call(shape="right triangle")], False),  # sides may not be left out
        ([call(shape=3, sides=[3, 4, 5])], False),
        ([Call("volume", "{}")], False),
        ([], False),
        ([call(shape="right triangle", sides=[3, 4, 5])] * 2, False),
    ],
)
def test_a_call_is_right_by_the_rules(calls, right):
    assert is_right(CASE, calls) == right


def test_parallel_calls_are_matched_in_any_order_each_answer_once():
    wanted = [{"geometry.area": {"shape": ["a"]}}, {"geometry.area": {"shape": ["b"]}}]
    case = CASE | {"ground_truth": wanted}
    assert is_right(case, [call(shape="b"), call(shape="a")])
    assert not is_right(case, [call(shape="b"), call(shape="b")])


def test_no_call_is_right_where_none_is_wanted():
    assert is_right({"expect": "no_call"}, [])
    assert not is_right({"expect": "no_call"}, [call(shape="a")])


def test_the_reference_answers_of_the_data_are_right():
    for path in shared_file("bfcl").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            if "expect" in case:
                calls = [
                    Call(c["name"], json.dumps(c["arguments"])) for c in case["reference_calls"]
                ]
                assert all(is_valid(c, case["tools"]) for c in calls), case["id"]
                assert is_right(case, calls), case["id"]


def test_the_evaluation_answers_every_case_both_ways(tmp_path, monkeypatch, capsys):
    (tmp_path / "own.jsonl").write_text(f"{json.dumps(CASE)}\n{json.dumps(CASE)}\n")
    right = json.dumps({"shape": "right triangle", "sides": [3, 4, 5]})
    text = f'<tool_call>\n{{"name": "area", "arguments": {right}}}\n</tool_call>'

    @asynccontextmanager
    async def lifespan(app):
        yield

    loaded = SimpleNamespace(services=make_services(text), lifespan=lifespan)
    monkeypatch.setattr(bfcl, "load_server", lambda *arguments, **options: loaded)
    monkeypatch.setattr(bfcl, "resolve_model", lambda *a, **o: SimpleNamespace(path=tmp_path))
    arguments = ["--data", str(tmp_path), "--model", "tiny", "--max-tokens", "200"]
    assert bfcl.main([*arguments, "--unconstrained", "--output", str(tmp_path)]) == 0
    scores = json.loads((tmp_path / "bfcl_tiny.json").read_text())["scores"]
    assert [score["is_constrained"] for score in scores] == [True, False]
    for score in scores:
        assert (score["num_cases"], score["num_right"], score["num_refused"]) == (2, 2, 0)
        assert (score["num_calls"], score["num_valid_calls"]) == (2, 2)
    assert "2/2" in capsys.readouterr().out
    assert [request.constraint is None for request in loaded.services.engine.requests] == [
        False, False, True, True,
    ]  # fmt: skip


def test_without_cases_there_is_nothing_to_judge(tmp_path, capsys):
    assert bfcl.main(["--data", str(tmp_path)]) == 2
    assert "no cases in" in capsys.readouterr().out
