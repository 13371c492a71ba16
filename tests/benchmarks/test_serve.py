"""The serving benchmark sends what it says, judges by the schema, and counts what goes wrong."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import pytest
from rich.console import Console

from benchmarks import serve_soak, soak_neighbours
from benchmarks.serve import main
from benchmarks.serve_client import Answer, _Reply
from benchmarks.serve_result import Slo, summarise, token_ms
from benchmarks.serve_server import ServerNotFoundError, running_server
from benchmarks.serve_work import draw_work
from benchmarks.soak_result import LoadResult, SoakReport
from benchmarks.spread import Spread
from tests.support.chat_server import make_services, running

SLO = Slo(first_ms=1000, token_ms=100)


def test_work_is_drawn_in_the_shares_that_were_asked_for():
    work = draw_work(40, constrained_percent=50, max_tokens=8, seed=1)
    assert Counter(item.kind for item in work) == {"free": 20, "document": 10, "call": 10}
    assert work == draw_work(40, constrained_percent=50, max_tokens=8, seed=1)
    assert work != draw_work(40, constrained_percent=50, max_tokens=8, seed=2)
    for item in work:
        for schema in item.schemas.values():
            jsonschema.Draft202012Validator.check_schema(schema)


def chunk(finish=None, usage=None, **delta):
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if usage is None else []
    return {"choices": choices, "usage": usage}


def call_chunk(arguments, name=None):
    return chunk(tool_calls=[{"index": 0, "function": {"name": name, "arguments": arguments}}])


DOCUMENT = SimpleNamespace(kind="document", schemas={"": {"type": "object", "required": ["a"]}})
CALL = SimpleNamespace(kind="call", schemas={"f": {"type": "object", "required": ["a"]}})
FREE = SimpleNamespace(kind="free", schemas={})


@pytest.mark.parametrize(
    ("work", "chunks", "fault"),
    [
        (FREE, [chunk(content="a"), chunk("length")], ""),
        (FREE, [chunk("stop")], "empty"),
        (FREE, [chunk(content="a")], "no finish reason"),
        (FREE, [chunk(content="a"), {"error": {"message": "gone"}}], "error in the stream: gone"),
        (DOCUMENT, [chunk(content='{"a"'), chunk(content=":1}"), chunk("stop")], ""),
        (DOCUMENT, [chunk(content="{}"), chunk("stop")], "not valid: required"),
        (DOCUMENT, [chunk(content='{"a"'), chunk("stop")], "not JSON"),
        (DOCUMENT, [chunk(content='{"a"'), chunk("length")], "cut"),
        (CALL, [call_chunk('{"a":', "f"), call_chunk("1}"), chunk("tool_calls")], ""),
        (CALL, [call_chunk("{}", "f"), chunk("tool_calls")], "not valid: required"),
        (CALL, [call_chunk("{}", "g"), chunk("tool_calls")], "unknown function 'g'"),
        (CALL, [chunk(content="no"), chunk("stop")], "no call"),
    ],
)
def test_an_answer_is_judged_by_what_was_asked_for(work, chunks, fault):
    reply = _Reply()
    for one in (*chunks, chunk(usage={"completion_tokens": 7})):
        reply.take(one)
    assert reply.fault(work) == fault
    assert reply.num_tokens == 7


def test_goodput_counts_right_answers_in_time():
    def answer(first_s, total_s, fault=""):
        return Answer("free", not fault, fault, first_s, [0.1], total_s, num_tokens=11)

    answers = [answer(0.5, 1.0), answer(2.0, 2.5), answer(0.5, 9.0), answer(0.5, 1.0, "cut")]
    result = summarise("x", answers, constrained_percent=0, seconds=2.0, slo=SLO)
    assert token_ms(answers[0]) == pytest.approx(50)
    assert (result.num_right, result.num_cut, result.faults) == (3, 1, {})
    assert (result.answers_per_s, result.goodput) == (1.5, 0.5)
    assert result.tokens_per_s == 22


def test_a_running_server_is_measured_and_the_report_is_written(tmp_path, capsys):
    services = make_services("Some words.", None, max_model_len=4_000)
    with running(services) as url:
        arguments = ["--url", url, "--requests", "6", "--constrained", "100", "--max-tokens", "400"]
        assert main([*arguments, "--output", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "serve.json").read_text())
    (result,) = report["results"]
    assert (result["num_requests"], result["num_right"], result["faults"]) == (6, 6, {})
    assert report["command"].startswith("tightrope bench serve --url ")
    assert (tmp_path / "serve.svg").read_text().startswith("<?xml")
    assert "6/6" in capsys.readouterr().out


def test_wrong_answers_are_told_and_end_the_command_with_1(capsys):
    with running(make_services("ok", fails_after=1)) as url:
        arguments = ["--url", url, "--requests", "4", "--constrained", "0", "--rate", "1000"]
        assert main(arguments) == 1
    assert "4 x error in the stream" in capsys.readouterr().out


def test_without_a_server_there_is_nothing_to_measure(capsys):
    with pytest.raises(ServerNotFoundError, match="lists no model"):
        running_server("http://127.0.0.1:9/v1", None, None)
    assert main(["--url", "http://127.0.0.1:9"]) == 2


def test_the_soak_compares_the_goodput_under_four_times_the_load(monkeypatch, tmp_path):
    from contextlib import contextmanager
    from os import getpid

    @contextmanager
    def scripted(model, arguments, console):
        with running(make_services("words " * 5, None, max_model_len=4_000)) as url:
            yield running_server(url, None, None), getpid()

    monkeypatch.setattr(serve_soak, "own_server", scripted)
    monkeypatch.setattr(soak_neighbours, "_NUM_MEMBERS", 20)
    monkeypatch.setattr(soak_neighbours, "_NUM_RULES", 20)
    options = SimpleNamespace(
        model=None, serve_arguments=[], max_tokens=400, seed=1, timeout=60, soak_seconds=1,
        output=tmp_path,
    )  # fmt: skip
    status = serve_soak.soak(Namespace(**vars(options)), ["--soak"], Console(width=150))
    report = json.loads((tmp_path / "soak.json").read_text())
    usual, overload, again = (report[name] for name in ("usual", "overload", "again"))
    assert overload["rate"] == pytest.approx(4 * usual["rate"])
    assert again["rate"] == usual["rate"]
    for load in (usual, overload, again):
        assert load["num_right"] + load["num_shed"] == load["num_requests"]
        assert load["faults"] == []
        assert load["memory_mb"] > 0
        assert load["goodput"] > 0
    assert report["samples"]
    assert 0 < report["beside_ms"]["p50"] <= report["beside_ms"]["p99"]
    assert len(report["goals"]) == 6
    assert status == (0 if all(goal["met"] for goal in report["goals"]) else 1)
    assert "<svg" in (tmp_path / "soak.svg").read_text()


def spread(p99):
    return Spread(1, 1, 1, p99, p99, p99)


USUAL = LoadResult(
    load="usual", rate=1, num_requests=9, num_right=9, num_shed=0, faults=[], goodput=1,
    shed_p99_ms=9, most_waiting=0, memory_mb=100, begin_s=0, end_s=9,
)  # fmt: skip


@pytest.mark.parametrize(
    ("overload", "again", "beside_p99", "missed"),
    [
        ({}, {}, 2, ""),
        ({"goodput": 0.89}, {}, 2, "goodput"),
        ({"most_waiting": 33}, {}, 2, "longest queue"),
        ({"shed_p99_ms": 251}, {}, 2, "p99 of a refusal"),
        ({"shed_p99_ms": None}, {}, 2, "p99 of a refusal for want of room: none was refused"),
        ({}, {"memory_mb": 164}, 2, "memory growth"),
        ({}, {}, 2.01, "p99 between two tokens"),
        ({"faults": ["not JSON"]}, {}, 2, "wrong answers: not JSON"),
    ],
)
def test_each_goal_of_the_soak_can_be_missed(overload, again, beside_p99, missed):
    loads = USUAL, replace(USUAL, **overload), replace(USUAL, **again)
    report = SoakReport(*loads, 32, spread(1), spread(beside_p99), [])
    told = [sentence for sentence, is_met in report.goals() if not is_met]
    assert len(told) == bool(missed)
    assert not told or told[0].startswith(missed)
