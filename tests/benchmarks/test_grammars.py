"""The grammar benchmark runs each engine in a process of its own and writes what it promises."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.clock import Clock
from benchmarks.engines.base import ENGINES, EngineInfo, make_engine
from benchmarks.engines.tightrope import ACTIONS_AHEAD
from benchmarks.grammar_measure import Document, Job, measure
from benchmarks.grammar_outcome import Broken, Measured, Refused
from benchmarks.grammar_worker import EngineProcess, EngineStartError, WorkerSettings
from benchmarks.grammars import main
from server.config import ServerConfig
from tests.support.tokenizer_source import tiny_source
from tests.support.tokenizers import TINY_PADDED_SIZE, tiny_tokenizer_json, tiny_vocabulary


def faulty(limit_s: float = 60, clock: Clock = Clock.WALL, mode: str = "") -> WorkerSettings:
    info = EngineInfo("tests.support.faulty_engine", "json", "none", mode)
    return WorkerSettings(info, tiny_source(), clock, limit_s, memory_bytes=8 << 30)


def job(fault: str | None) -> Job:
    return Job({"fault": fault}, (Document((2, 3), is_valid=True),))


def test_a_crash_is_counted_and_the_next_schema_gets_a_new_process():
    with EngineProcess(faulty()) as process:
        assert process.run(job("refuse")) == Refused("ValueError: not this one")
        assert process.run(job("die")) == Broken(False, "its process was ended by SIGABRT")
        assert isinstance(process.run(job(None)), Measured)


@pytest.mark.parametrize(
    ("fault", "clock"), [("spin", Clock.CPU), ("sleep", Clock.WALL), ("sleep", Clock.CPU)]
)
def test_a_hang_is_ended_at_the_limit(fault, clock):
    with EngineProcess(faulty(limit_s=0.2, clock=clock)) as process:
        assert process.run(job(fault)) == Broken(is_timeout=True, reason="no end within 0.2 s")


def test_an_engine_that_cannot_start_says_why():
    with pytest.raises(EngineStartError, match=r"^OSError: its library is broken$"):
        EngineProcess(faulty(mode="absent"))


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 3}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_judges_documents_and_their_ends(name):
    pytest.importorskip(ENGINES[name].library)
    vocabulary = tiny_vocabulary()
    texts = {  # text -> (whether it is valid, whether all tokens are allowed, whether it may end)
        '{"a": 1, "b": "xyz"}': (True, True, True),
        '{"a": 1, "b": "xyz"': (False, True, False),
        '{"a": 1}': (False, False, False),
        '{"a": 1, "b": "xyzxyz"}': (False, False, False),
    }
    documents = tuple(
        Document(tuple(vocabulary.encode(text.encode())), is_valid)
        for text, (is_valid, *_) in texts.items()
    )
    found = measure(make_engine(ENGINES[name], tiny_source()), Job(SCHEMA, documents), Clock.WALL)
    assert isinstance(found, Measured)
    judged = [(one.is_valid, one.refused_at is None, one.can_end) for one in found.written]
    assert judged == list(texts.values())


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    cases: dict[str, tuple[object, list[tuple[bool, object]]]] = {
        "Handwritten---closed": (SCHEMA, [(True, {"a": 1, "b": "x"}), (False, {"a": 1})]),
        "Handwritten---dependent": (
            {"type": "object", "dependentRequired": {"a": ["b"]}},
            [(True, {}), (False, {"a": 1})],
        ),
        "MCPspec---any": (True, []),
    }
    for name, (schema, tests) in cases.items():
        content = {"schema": schema, "tests": [{"valid": v, "data": d} for v, d in tests]}
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def arguments(tmp_path, data, *others):
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(tiny_tokenizer_json())
    return [
        "--data", str(data), "--tokenizer", str(tokenizer), "--end-token", "<|end|>",
        "--padded-size", str(TINY_PADDED_SIZE), *others,
    ]  # fmt: skip


def test_the_command_writes_tables_json_plot_and_failures(tmp_path, data, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "maskforge", None)  # as if it were not installed
    output, failures = tmp_path / "out", tmp_path / "failures.txt"
    given = arguments(
        tmp_path, data, "--backends", "tightrope", "llguidance", "maskforge",
        "--output", str(output), "--failures", str(failures),
    )  # fmt: skip
    assert main(given) == 0
    printed = capsys.readouterr().out
    assert "maskforge did not run: not installed: pip install maskforge" in printed
    report = json.loads((output / "grammars.json").read_text())
    assert report["command"].startswith("tightrope bench grammars --data ")
    assert {"processor", "cores", "memory_gib", "python"} <= report["machine"].keys()
    assert report["clock"] == "wall"
    assert list(report["missing"]) == ["maskforge"]
    ours, peer = report["results"]
    assert (ours["engine"], ours["schemas"], ours["with_documents"]) == ("tightrope", 3, 2)
    assert ours["prefix_rule"]["passing"] == 3
    assert peer["compile_errors"] == 1
    assert peer["prefix_rule"]["passing_share"] == pytest.approx(2 / 3)
    assert ours["times"]["step_us"].keys() == {"mean", "p50", "p90", "p99", "p99_9", "max"}
    assert [(one["engine"], one["schemas"]) for one in report["ratios"]] == [("tightrope", 2)]
    (line,) = failures.read_text().splitlines()
    assert line.startswith("llguidance\tHandwritten---dependent\tcompile_error\tValueError: ")
    assert "<svg" in (output / "grammars.svg").read_text()


def test_a_run_that_is_interrupted_reports_what_it_has(tmp_path, data, capsys, monkeypatch):
    run = EngineProcess.run
    jobs = []

    def interrupted(process, job):
        jobs.append(job)
        if len(jobs) == 2:
            raise KeyboardInterrupt
        return run(process, job)

    monkeypatch.setattr(EngineProcess, "run", interrupted)
    given = arguments(tmp_path, data, "--backends", "llguidance", "--output", str(tmp_path / "o"))
    assert main(given) == 0
    assert "stopped after 1 schemas" in capsys.readouterr().out
    report = json.loads((tmp_path / "o/grammars.json").read_text())
    assert report["results"][0]["schemas"] == 1


def test_nothing_measured_is_a_failure(tmp_path, data, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "maskforge", None)
    assert main(arguments(tmp_path, data, "--backends", "maskforge")) == 1
    assert "maskforge did not run: not installed" in capsys.readouterr().out


def test_data_that_cannot_be_used_is_told_and_ends_with_2(tmp_path, data, capsys):
    assert main(arguments(tmp_path, tmp_path / "none")) == 2
    assert "holds no *.json and no *.jsonl.gz" in " ".join(capsys.readouterr().out.split())
    assert main(arguments(tmp_path, data, "--schemas", "x")) == 2
    assert "the data has no schema named x" in capsys.readouterr().out


def test_states_are_made_ahead_as_a_server_does_it():
    assert ServerConfig().warm_actions == ACTIONS_AHEAD
