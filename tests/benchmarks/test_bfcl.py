"""Calls are judged by the leaderboard's rules, and the evaluation counts what it says."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from benchmarks import bfcl
from benchmarks.bfcl_answer import Answer, AnswerFile, Mode, SettingsError
from benchmarks.bfcl_cases import Case, read_cases
from benchmarks.bfcl_result import ALL, scores_of
from benchmarks.bfcl_score import Call, Mistake, find_mistake, is_lost, is_valid
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
LINE = {
    "id": "own_1",
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


CASE = Case.from_json(LINE)
NO_CALL = Case.from_json(LINE | {"id": "own_2", "expect": "no_call", "ground_truth": []})


def call(**arguments):
    return Call("area", json.dumps(arguments))


RIGHT = call(shape="right triangle", sides=[3, 4, 5])


@pytest.mark.parametrize(
    ("calls", "mistake"),
    [
        ([RIGHT], None),
        ([call(shape="right-triangle", sides=[3, 4, 5], unit="CM", exact=True)], None),
        ([call(shape="triangle", sides=[3, 4, 5])], Mistake.VALUE),
        ([call(shape="right triangle", sides=[3, 4])], Mistake.VALUE),
        ([call(shape="right triangle", sides=[3, 4, 5], unit="m")], Mistake.VALUE),
        ([call(shape="right triangle", sides=[3, 4, 5], exact=1)], Mistake.INVALID),
        ([call(shape="right triangle", sides=[3, 4, 5], colour="red")], Mistake.EXTRA),
        ([call(shape="right triangle")], Mistake.MISSING),  # sides may not be left out
        ([call(shape=3, sides=[3, 4, 5])], Mistake.INVALID),
        ([Call("area", "{")], Mistake.INVALID),
        ([Call("volume", "{}")], Mistake.FUNCTION),
        ([], Mistake.NO_CALL),
        ([RIGHT] * 2, Mistake.MORE_CALLS),
    ],
)
def test_calls_are_judged_by_the_rules(calls, mistake):
    assert find_mistake(CASE, calls) is mistake


def test_parallel_calls_are_matched_in_any_order_each_answer_once():
    wanted = [{"geometry.area": {"shape": ["a"]}}, {"geometry.area": {"shape": ["b"]}}]
    case = Case.from_json(LINE | {"ground_truth": wanted})
    assert find_mistake(case, [call(shape="b"), call(shape="a")]) is None
    assert find_mistake(case, [call(shape="b"), call(shape="b")]) is Mistake.VALUE
    assert find_mistake(case, [call(shape="b")]) is Mistake.FEWER_CALLS


def test_no_call_is_right_where_none_is_wanted():
    assert find_mistake(NO_CALL, []) is None
    assert find_mistake(NO_CALL, [call(shape="a")]) is Mistake.MORE_CALLS


def test_an_answer_is_lost_where_no_further_call_can_help():
    assert not is_lost(CASE, [])
    assert not is_lost(CASE, [RIGHT])
    assert is_lost(CASE, [call(shape="triangle")])
    assert is_lost(CASE, [RIGHT, RIGHT])
    assert is_lost(NO_CALL, [RIGHT])


def test_the_reference_answers_of_the_data_are_right():
    references = {
        line["id"]: [Call(c["name"], json.dumps(c["arguments"])) for c in line["reference_calls"]]
        for path in shared_file("bfcl").glob("*.jsonl")
        for line in map(json.loads, path.read_text().splitlines())
        if "expect" in line
    }
    cases = read_cases(shared_file("bfcl"), limit=None, seed=1)
    assert len(cases) == len(references) == 300
    for case in cases:
        assert all(is_valid(c, case) for c in references[case.id]), case.id
        assert find_mistake(case, references[case.id]) is None, case.id


def test_a_higher_limit_draws_the_same_cases_and_more(tmp_path):
    lines = [json.dumps(LINE | {"id": str(number)}) for number in range(9)]
    (tmp_path / "own.jsonl").write_text("\n".join([*lines, '{"id": "expects nothing"}']))
    drawn = [[c.id for c in read_cases(tmp_path, limit=n, seed=3)] for n in (2, 5)]
    assert drawn[0] == drawn[1][:2]
    assert len(read_cases(tmp_path, limit=None, seed=3)) == 9
    assert drawn[0] != [c.id for c in read_cases(tmp_path, limit=2, seed=4)]


def test_cases_come_in_turns_of_the_categories(tmp_path):
    for name, number in (("a", 3), ("b", 1)):
        lines = [json.dumps(LINE | {"id": f"{name}{index}"}) for index in range(number)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    cases = read_cases(tmp_path, limit=None, seed=1)
    assert [case.id for case in cases] == ["a0", "b0", "a1", "a2"]


def test_scores_count_by_category_and_over_all_that_want_a_call():
    answered = [
        (CASE, Answer("m", Mode.AUTO, CASE.id, calls=(RIGHT, Call("area", "{}")), is_cut=True)),
        (CASE, Answer("m", Mode.AUTO, CASE.id, refusal="no")),
        (CASE, Answer("m", Mode.AUTO, CASE.id, calls=(RIGHT,))),
        (NO_CALL, Answer("m", Mode.AUTO, NO_CALL.id)),
    ]
    own, every = scores_of("m", Mode.AUTO, answered)
    assert (own.category, own.num_cases, own.num_right, own.num_refused) == ("own", 4, 2, 1)
    assert (own.num_calls, own.num_valid_calls, own.is_exact, own.num_cut) == (3, 2, False, 1)
    assert own.mistakes == {"more calls": 1}
    assert (every.category, every.num_cases, every.num_right) == (ALL, 3, 1)


def test_kept_answers_are_found_again_and_only_under_the_same_settings(tmp_path):
    path = tmp_path / "kept" / "answers.jsonl"
    answer = Answer("m", Mode.REQUIRED, "é", "text", (RIGHT,), 7, is_stopped=True, cpu_s=0.5)
    AnswerFile(path, {"max_tokens": 9}).keep(answer)
    again = AnswerFile(path, {"max_tokens": 9})
    assert again.find("m", Mode.REQUIRED, "é") == answer
    assert again.find("m", Mode.AUTO, "é") is None
    with pytest.raises(SettingsError, match=r'was made with \{"max_tokens": 9\}, not'):
        AnswerFile(path, {"max_tokens": 8})


@pytest.fixture
def evaluate(tmp_path, monkeypatch, capsys):
    """Runs the command on two own cases with a scripted model; gives status, services, output."""
    (tmp_path / "own.jsonl").write_text(
        f"{json.dumps(LINE)}\n{json.dumps(LINE | {'id': 'own_3'})}\n"
    )

    def run(*arguments, text):
        @asynccontextmanager
        async def lifespan(app):
            yield

        loaded = SimpleNamespace(services=make_services(text), lifespan=lifespan)

        def load_server(folder, engine_config, config, *others, **options):
            loaded.services = make_services(text, config=config, names=config.served_names)
            return loaded

        monkeypatch.setattr(bfcl, "load_server", load_server)
        monkeypatch.setattr(bfcl, "resolve_model", lambda *a, **o: SimpleNamespace(path=tmp_path))
        status = bfcl.main(["--data", str(tmp_path), "--model", "tiny", *arguments])
        return status, loaded.services.engine.requests, capsys.readouterr().out

    return run


def written(*calls):
    return "\n".join(
        f'<tool_call>\n{{"name": "{c.name}", "arguments": {c.arguments}}}\n</tool_call>'
        for c in calls
    )


def test_the_evaluation_answers_every_case_in_every_mode(evaluate, tmp_path):
    status, requests, shown = evaluate(
        "--max-tokens", "200", "--max-text-tokens", "150", "--output", str(tmp_path),
        text=written(RIGHT),
    )  # fmt: skip
    assert status == 0
    report = json.loads((tmp_path / "bfcl.json").read_text())
    assert [(s["category"], s["mode"]) for s in report["scores"]] == [
        (category, mode) for mode in ("free", "auto", "required") for category in ("own", "all")
    ]
    for score in report["scores"]:
        assert (score["num_cases"], score["num_right"], score["num_refused"]) == (2, 2, 0)
        assert (score["num_calls"], score["num_valid_calls"]) == (2, 2)
    assert report["costs"][0]["num_answers"] == 6
    assert "2 of 2 (100 %)" in shown
    assert "| tiny | own | 2 of 2 (100 %) |" in (tmp_path / "bfcl.md").read_text()
    assert (tmp_path / "bfcl.svg").stat().st_size > 1000
    assert sorted(request.constraint is None for request in requests) == [False] * 4 + [True] * 2


def test_kept_answers_are_not_made_again(evaluate, tmp_path):
    answers = ("--answers", str(tmp_path / "answers"), "--max-text-tokens", "150")
    assert len(evaluate("--limit", "1", *answers, text=written(RIGHT))[1]) == 3
    status, requests, shown = evaluate(*answers, text=written(RIGHT))
    assert (status, len(requests)) == (0, 3)
    assert "2 of 2 (100 %)" in shown
    status, requests, shown = evaluate(*answers, "--max-tokens", "9", text=written(RIGHT))
    assert (status, requests) == (2, [])
    assert "was made with" in shown


def test_a_run_that_is_stopped_reports_what_is_there(evaluate, tmp_path, monkeypatch):
    def interrupted(*arguments, keep, **options):
        keep(Answer("tiny", Mode.FREE, "own_1", calls=(RIGHT,)))
        raise KeyboardInterrupt

    monkeypatch.setattr(bfcl, "answer_all", interrupted)
    status, _, shown = evaluate(text="")
    assert status == 0
    assert "stopped; this is what is there:" in shown
    assert "1 of 1 (100 %)" in shown


def test_a_model_may_be_served_with_another_format_of_calls(evaluate):
    name = "tiny@json_block"
    fenced = '```json\n{{\n  "name": "area",\n  "arguments": {}\n}}\n```'
    arguments = ("--max-text-tokens", "150", "--modes", "auto", "--model")
    assert "2 of 2 (100 %)" in evaluate(*arguments, name, text=fenced.format(RIGHT.arguments))[2]
    shown = evaluate(*arguments, "tiny", text=fenced.format(RIGHT.arguments))[2]
    assert "0 of 2 (0 %)" in shown


def test_an_answer_ends_where_it_is_lost_or_is_text(evaluate, tmp_path):
    wrong = call(shape="triangle")
    path = tmp_path / "answers"
    evaluate(
        "--modes", "free", "--limit", "1", "--answers", str(path), "--max-text-tokens", "150",
        text=f"{written(wrong)} and on and on",
    )  # fmt: skip
    (answer,) = AnswerFile(path, {"max_tokens": 256, "max_text_tokens": 150}).of("tiny")
    assert (answer.calls, answer.text, answer.is_stopped) == ((wrong,), "", True)
    path.unlink()
    evaluate(
        "--modes", "auto", "--limit", "1", "--answers", str(path), "--max-text-tokens", "8",
        "--output", str(tmp_path), text="I would rather not.",
    )  # fmt: skip
    report = json.loads((tmp_path / "bfcl.json").read_text())
    assert report["scores"][0]["mistakes"] == {"no call": 1}
    (answer,) = AnswerFile(path, {"max_tokens": 256, "max_text_tokens": 8}).of("tiny")
    assert (answer.text, answer.num_tokens, answer.is_cut) == ("I would", 8, True)


def test_a_constrained_call_that_is_invalid_fails_the_evaluation(evaluate, monkeypatch):
    monkeypatch.setattr("benchmarks.bfcl_result.is_valid", lambda call, case: False)
    modes = ("--max-text-tokens", "150", "--modes")
    assert evaluate(*modes, "free", text=written(RIGHT))[0] == 0
    assert evaluate(*modes, "free", "auto", text=written(RIGHT))[0] == 1


def test_without_cases_there_is_nothing_to_judge(tmp_path, capsys):
    assert bfcl.main(["--data", str(tmp_path)]) == 2
    assert "no cases in" in capsys.readouterr().out
