"""The commands do what they say, and say what is wrong in one line."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version

import pytest
from jsonschema import validate

from server.cli import main
from server.models.cache import ModelCache
from server.models.catalog import BUILTIN_MODELS

POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 9}, "on": {"type": "boolean"}},
    "required": ["x", "on"],
    "additionalProperties": False,
}


@pytest.fixture
def schema_path(tmp_path):
    path = tmp_path / "point.json"
    path.write_text(json.dumps(POINT))
    return path


def generate(tiny_folder, *arguments):
    options = ["--model", str(tiny_folder), "--dtype", "float32", "--device", "cpu"]
    return main(["generate", "hello", *options, *arguments])


def test_the_version_is_the_distributions(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"tightrope {version('tightrope')}\n"


@pytest.mark.parametrize("arguments", [[], ["fly"], ["serve", "--wings", "2"], ["models", "x"]])
def test_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    assert ending.value.code == 2
    assert "usage: tightrope" in capsys.readouterr().err


def test_models_lists_the_built_in_ones_and_what_is_cached(tmp_path, capsys):
    def build(folder, scratch):
        (folder / "config.json").write_text("{}")

    ModelCache(tmp_path / "cache").get_or_build("my-model-abc", "v1", build)
    assert main(["models"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in BUILTIN_MODELS)
    assert f"Converted models are kept in {tmp_path / 'cache/models'}:\n  my-model-abc\n" in shown


def test_a_schema_that_is_not_utf_8_is_told_in_one_line(tiny_folder, tmp_path, capsys):
    path = tmp_path / "schema.json"
    path.write_bytes('{"title": "é"}'.encode("latin-1"))
    assert generate(tiny_folder, "--schema", str(path)) == 1
    assert capsys.readouterr().err == (
        f"tightrope: {path}: byte 11 is not UTF-8, as JSON must be\n"
    )


def test_a_missing_file_is_told_in_one_line(tiny_folder, tmp_path, capsys):
    missing = tmp_path / "missing.json"
    assert generate(tiny_folder, "--schema", str(missing)) == 1
    assert capsys.readouterr().err == (f"tightrope: {missing}: No such file or directory\n")


def test_generate_writes_a_document_of_the_schema(tiny_folder, schema_path, capsys):
    assert generate(tiny_folder, "--schema", str(schema_path)) == 0
    validate(json.loads(capsys.readouterr().out), POINT)


def test_only_our_own_lines_are_on_the_terminal(tiny_folder, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert generate(tiny_folder, "--choice", "hello", "help") == 0
    assert capsys.readouterr().err.splitlines() == [
        "Loading PyTorch and transformers",
        "Loading the engine: weights",
        "Loading the engine: self-test",
        "Loading the engine: KV pool",
    ]


@pytest.mark.parametrize("backend", ["tightrope", "llguidance"])
def test_generate_writes_one_of_the_choices(tiny_folder, capsys, backend):
    assert generate(tiny_folder, "--backend", backend, "--choice", "hello", "help") == 0
    assert capsys.readouterr().out in ("hello\n", "help\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nested.gbnf", 'root ::= "(" root ")" | "no"'),
        ("nested.lark", 'start: "(" start ")" | NO\nNO: "no"'),
    ],
)
def test_generate_writes_a_text_of_the_grammar(tiny_folder, tmp_path, capsys, name, text):
    path = tmp_path / name
    path.write_text(text)
    generate(tiny_folder, "--grammar", str(path), "--temperature", "1", "--seed", "3")
    written = capsys.readouterr().out.removesuffix("\n")
    opening = len(written) - len(written.lstrip("("))
    assert written == "(" * opening + "no" + ")" * opening


def test_a_grammar_file_is_told_by_its_suffix(tiny_folder, capsys):
    with pytest.raises(SystemExit):
        generate(tiny_folder, "--grammar", "grammar.txt")
    assert "grammar.txt is neither a .gbnf nor a .lark file" in capsys.readouterr().err


def test_generate_writes_a_text_of_the_pattern(tiny_folder, capsys):
    assert generate(tiny_folder, "--regex", "(no ){2,3}never") == 0
    assert capsys.readouterr().out in ("no no never\n", "no no no never\n")


def test_sampling_is_repeatable_by_its_seed(tiny_folder, capsys):
    answers = set()
    for _ in range(2):
        generate(tiny_folder, "--temperature", "1", "--seed", "7", "--regex", "[a-z]{20}")
        answers.add(capsys.readouterr().out)
    assert len(answers) == 1


def test_a_cut_answer_is_told_and_ends_with_1(tiny_folder, capsys):
    assert generate(tiny_folder, "--regex", "[a-z]{50}", "--max-tokens", "5") == 1
    output = capsys.readouterr()
    assert output.err.endswith("cut after 5 tokens (--max-tokens): incomplete\n")
    assert output.out.strip().isalpha()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-tokens", "0"], "argument --max-tokens: 0 is not at least 1"),
        (["--temperature", "-1"], "argument --temperature: -1 is not in 0..2"),
        (["--temperature", "nan"], "argument --temperature: nan is not in 0..2"),
    ],
)
def test_a_wrong_sampling_option_is_told_before_the_model_is_loaded(arguments, message, capsys):
    with pytest.raises(SystemExit) as ending:
        main(["generate", "hello", "--model", "no-such-model", *arguments])
    assert ending.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("tokenizer_config.json", {"chat_template": None}, "the tokenizer has no chat template"),
        ("tokenizer.json", {"added_tokens": [{"content": "a", "id": -1}]}, "has the id -1"),
    ],
)
def test_a_tokenizer_that_is_of_no_use_is_told_in_one_line(
    tiny_folder, tmp_path, capsys, name, change, message
):
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(content | change))
    assert main(["generate", "hello", "--model", str(folder)]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("tightrope: model ")
    assert message in told


def test_an_option_that_cannot_be_honoured_is_told_in_one_line(tiny_folder, capsys):
    assert generate(tiny_folder, "--max-model-len", "100000") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "tightrope: max_model_len=100000: the model supports at most 128 tokens"
    )
