"""The mask benchmark measures right documents, counts errors, and writes what it promises."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import lark
import numpy as np
import pytest
from rich.console import Console

from benchmarks import case_compiler
from benchmarks.cfg_cases import CFG_CASE_NAMES, load_cfg_case
from benchmarks.mask_cases import CASE_NAMES, MaskCase, load_case
from benchmarks.mask_measure import MaskMeasurement, measure
from benchmarks.mask_report import MaskResult, compare, result_table
from benchmarks.mask_worker import Job, run_job
from benchmarks.masks import main
from benchmarks.spread import Spread
from benchmarks.tokenizer_source import TokenizerSourceError, from_file
from grammars.errors import UnsupportedError
from grammars.spec import Cfg
from tests.support.cfg_judge import CfgJudge
from tests.support.tokenizer_source import tiny_source
from tests.support.tokenizers import TINY_PADDED_SIZE, tiny_tokenizer_json, tiny_vocabulary


@pytest.fixture(scope="module")
def cases():
    return [load_case(name, whitespace="compact", num_documents=12, seed=3) for name in CASE_NAMES]


def test_drawn_documents_are_valid(cases):
    for case in cases:
        validator = jsonschema.Draft202012Validator(json.loads(case.schema))
        assert [text for text in case.valid if not validator.is_valid(json.loads(text))] == []


def test_invalid_documents_are_invalid(cases):
    for case in cases:
        validator = jsonschema.Draft202012Validator(json.loads(case.schema))
        assert len(case.invalid) >= 6
        for text in case.invalid:
            try:
                document = json.loads(text)
            except ValueError:
                continue
            assert not validator.is_valid(document), (case.name, text)


def test_equal_seeds_draw_equal_documents():
    def draw(seed: int) -> MaskCase:
        return load_case("nested", whitespace="single", num_documents=5, seed=seed)

    assert draw(1) == draw(1)
    assert draw(1).valid != draw(2).valid


@pytest.mark.parametrize("name", CFG_CASE_NAMES)
def test_texts_of_a_grammar_are_judged_as_they_are_listed(name):
    case = load_cfg_case(name)
    judge = CfgJudge(Cfg(case.syntax, case.grammar))
    assert [text for text in case.valid if not judge.accepts(text)] == []
    assert [text for text in case.invalid if judge.accepts(text)] == []
    assert len(case.valid) >= 3
    assert len(case.invalid) >= 6


@pytest.mark.parametrize("name", [name for name in CFG_CASE_NAMES if name.endswith(".lark")])
def test_lark_judges_texts_as_they_are_listed(name):
    case = load_cfg_case(name)
    parser = lark.Lark(case.grammar, parser="earley", lexer="dynamic")

    def accepts(text: str) -> bool:
        try:
            parser.parse(text)
        except lark.exceptions.LarkError:
            return False
        return True

    assert [text for text in case.valid if len(text) < 40 and not accepts(text)] == []
    assert [text for text in case.invalid if accepts(text)] == []


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        ("tightrope", "arithmetic.lark"),
        ("tightrope", "arithmetic.gbnf"),
        ("llguidance", "arithmetic.lark"),
        ("xgrammar", "arithmetic.gbnf"),
    ],
)
def test_a_library_reads_a_grammar_in_the_syntax_that_it_knows(backend, name):
    found = measure(
        backend, load_cfg_case(name), tiny_vocabulary(), whitespace="compact", repeats=1
    )
    assert found.refusal is None
    assert (found.valid_refused, found.invalid_accepted) == (0, 0)
    assert found.num_valid == 6


@pytest.mark.parametrize(
    ("backend", "name"),
    [("llguidance", "json.gbnf"), ("xgrammar", "json.lark"), ("outlines", "json.lark")],
)
def test_a_grammar_in_another_syntax_is_refused(backend, name):
    found = measure(
        backend, load_cfg_case(name), tiny_vocabulary(), whitespace="compact", repeats=1
    )
    assert found.refusal == (
        f"(root): grammars are not enforced by the {backend} backend; use the tightrope backend"
    )


CASE = MaskCase(
    name="toy",
    about="A list of ones.",
    schema='{"type":"array","items":{"const":1}}',
    valid=("[]", "[1,1]"),
    invalid=("[2]", "[1"),
)


@pytest.mark.parametrize("backend", ["tightrope", "xgrammar", "llguidance", "fsm-reference"])
def test_a_backend_is_timed_and_judged(backend):
    found = measure(backend, CASE, tiny_vocabulary(), whitespace="compact", repeats=2)
    num_steps = sum(len(tiny_vocabulary().encode(text.encode())) for text in CASE.valid)
    assert len(found.step_us) == len(found.again_us) == num_steps
    assert min(found.compile_ms, found.first_mask_us, *found.step_us, *found.again_us) > 0
    assert (found.num_valid, found.valid_refused) == (2, 0)
    assert (found.num_invalid, found.invalid_accepted) == (2, 0)
    assert found.memory_bytes > 0


def test_an_engine_that_allows_everything_is_counted_as_wrong(monkeypatch):
    matcher = SimpleNamespace(
        fill_bitmask=lambda row: row.fill(-1),
        accept_token=lambda _token_id: True,
        is_complete=True,
        is_terminated=True,
    )
    compiled = SimpleNamespace(matcher=lambda: matcher, memory_bytes=1)
    backend = SimpleNamespace(compile=lambda _spec, _vocabulary: compiled)
    monkeypatch.setattr(case_compiler, "get_backend", lambda _name: backend)
    found = measure("any", CASE, tiny_vocabulary(), whitespace="compact", repeats=1)
    assert (found.valid_refused, found.invalid_accepted) == (0, 2)


def test_a_mask_without_the_next_token_is_counted_as_wrong(monkeypatch):
    matcher = SimpleNamespace(
        fill_bitmask=lambda row: row.fill(0),
        accept_token=lambda _token_id: True,
        is_complete=True,
        is_terminated=True,
    )
    compiled = SimpleNamespace(matcher=lambda: matcher, memory_bytes=1)
    backend = SimpleNamespace(compile=lambda _spec, _vocabulary: compiled)
    monkeypatch.setattr(case_compiler, "get_backend", lambda _name: backend)
    found = measure("any", CASE, tiny_vocabulary(), whitespace="compact", repeats=1)
    assert found.valid_refused == 2


def test_a_refusal_is_told_by_its_name():
    recursive = load_case("recursive", whitespace="compact", num_documents=1, seed=1)
    found = measure("outlines", recursive, tiny_vocabulary(), whitespace="compact", repeats=1)
    assert found.refusal is not None
    assert found.refusal.startswith(
        "/$defs/node: a recursive schema is not enforced by the outlines"
    )
    with pytest.raises(UnsupportedError):
        raise UnsupportedError(found.refusal)


def test_statistics_are_of_all_steps():
    spread = Spread.of([1.0] * 99 + [101.0])
    assert spread.mean == pytest.approx(2.0)
    assert spread.p50 == 1.0
    assert spread.max == 101.0
    assert spread.p99 == pytest.approx(np.percentile([1.0] * 99 + [101.0], 99))


def test_ratios_compare_only_schemas_that_both_write():
    def cell(case: str, backend: str, scale: float, **changes) -> MaskResult:
        whole = MaskMeasurement(
            compile_ms=scale, first_mask_us=1000 * scale, step_us=(scale,), again_us=(scale,),
            num_valid=1,
        )  # fmt: skip
        return MaskResult(case, backend, replace(whole, **changes))

    (ratios,) = compare(
        [
            cell("a", "tightrope", 1.0), cell("a", "peer", 2.0),
            cell("b", "tightrope", 1.0), cell("b", "peer", 8.0),
            cell("c", "tightrope", 1.0), cell("c", "peer", 100.0, valid_refused=1),
            cell("d", "tightrope", 1.0), cell("d", "peer", 100.0, refusal="no"),
        ]
    )  # fmt: skip
    assert ratios.num_cases == 2
    assert list(ratios.ratios.values()) == pytest.approx([4.0] * 4)


def test_a_worker_that_takes_too_long_is_a_failure_not_a_refusal():
    found = run_job(Job("tightrope", CASE, tiny_source(), "compact", repeats=1, timeout_s=0.01))
    assert found == MaskMeasurement(failure="no result within 0.01 s", is_over_limit=True)
    console = Console(width=200)
    with console.capture() as printed:
        console.print(result_table([MaskResult("toy", "tightrope", found)], limit_s=0.01))
    assert "over the limit" in printed.get()
    assert "Limit per backend and case: 0.01 s." in printed.get()


def test_the_command_writes_table_json_and_plots(tmp_path, capsys):
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(tiny_tokenizer_json())
    arguments = [
        "--quick", "--tokenizer", str(tokenizer), "--end-token", "<|end|>",
        "--padded-size", str(TINY_PADDED_SIZE), "--backends", "tightrope", "outlines",
        "--output", str(tmp_path / "out"),
    ]  # fmt: skip
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "recursive, outlines: refused: /$defs/node: a recursive schema" in printed
    assert "the CPU part ran" in printed or "This is the CPU part" in printed
    report = json.loads((tmp_path / "out/masks.json").read_text())
    assert report["command"].startswith("tightrope bench masks --quick --tokenizer ")
    assert {"processor", "cores", "memory_gib", "python"} <= report["machine"].keys()
    assert "numpy" in report["versions"]
    cells = {(cell["case"], cell["backend"]): cell for cell in report["results"]}
    assert cells["flat", "tightrope"]["valid_refused"] == 0
    assert cells["flat", "tightrope"]["invalid_accepted"] == 0
    assert set(cells["flat", "tightrope"]["step_us"]) == set(Spread.__slots__)
    assert cells["recursive", "outlines"]["failure"] is None
    assert report["ratios"][0]["peer"] == "outlines"
    assert "<svg" in (tmp_path / "out/masks.svg").read_text()


def test_a_tokenizer_without_a_known_end_token_is_refused(tmp_path):
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(tiny_tokenizer_json())
    with pytest.raises(TokenizerSourceError, match="has no end token '<eos>'; name one with "):
        from_file(tokenizer, padded_size=None, end_token="<eos>")
    with pytest.raises(TokenizerSourceError, match=r"is no file; give a tokenizer\.json"):
        from_file(tmp_path / "none.json", padded_size=None, end_token=None)
