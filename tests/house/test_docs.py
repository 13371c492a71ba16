"""What the docs say of commands, fields and files is so."""

from __future__ import annotations

import dataclasses
import io
import re
import shlex
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

from grammars.schema.keywords import support_table
from grammars.spec import JsonSchema
from server import cli
from server.commands.check import draw_spec
from server.config import ServerConfig
from server.wire.chat_request import ChatCompletionRequest
from server.wire.policy import IGNORED_FIELDS, REFUSED_FIELDS
from tests.support.byte_vocabulary import byte_vocabulary

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page for glob in ("*.md", "docs/**/*.md", "examples/*.md") for page in ROOT.glob(glob)
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_into_pages_lead_to_headings_that_exist(page):
    links = re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text())
    missing = [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in anchors_of(page.parent / target if target else page)
    ]
    assert missing == []


def anchors_of(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_docs_exist(page):
    commands = [line.split() for line in command_lines(page)]
    assert {words[1] for words in commands if words[0] == "tightrope"} <= cli.COMMANDS.keys()
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{words[1]}:" in makefile for words in commands if words[0] == "make")


def command_lines(page):
    """The shell commands in a page's blocks, without prompts and line breaks."""
    blocks = re.findall(
        r"^```(?:console)?\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?(tightrope|make) ", line)]


def test_every_flag_in_the_docs_is_one_of_its_command(capsys):
    flags: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for page in PAGES:
        for line in command_lines(page):
            program, *words = shlex.split(line, comments=True)
            if program == "tightrope":
                depth = 2 if words[0] in ("bench", "eval") else 1
                found = (word.partition("=")[0] for word in words if word.startswith("--"))
                flags[tuple(words[:depth])].update(found)
    assert {("serve",), ("bench", "grammars"), ("eval", "bfcl")} <= flags.keys()
    for command, given in flags.items():
        with pytest.raises(SystemExit):
            cli.main([*command, "--help"])
        known = re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)
        assert sorted(given - set(known)) == [], command


def test_every_command_is_there_and_in_the_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    for name, (module, summary) in cli.COMMANDS.items():
        assert callable(import_module(module).main)
        assert f"  {name:10}{summary}\n" in shown


def test_the_api_page_names_every_field():
    page = (ROOT / "docs/api.md").read_text()
    honoured, rest = page.split("Accepted without effect", 1)
    ignored, refused = rest.split("Refused with", 1)
    fields = set(ChatCompletionRequest.model_fields)
    assert named_in(ignored) >= set(IGNORED_FIELDS)
    assert named_in(refused) >= set(REFUSED_FIELDS)
    assert named_in(honoured) >= fields - set(IGNORED_FIELDS) - set(REFUSED_FIELDS)


def named_in(text):
    return set(re.findall(r"`(\w+)`", text))


def test_the_settings_page_names_only_flags_that_exist():
    flags = set(re.findall(r"`(--[a-z-]+)", (ROOT / "docs/quickstart.md").read_text()))
    parser = import_module("server.commands.serve").make_parser()
    assert flags <= set(parser.format_help().replace(",", " ").split())


def test_the_operations_page_names_every_limit_of_a_request():
    page = (ROOT / "docs/operations.md").read_text()
    names = (field.name for field in dataclasses.fields(ServerConfig))
    flags = [f"`--{name.replace('_', '-')}`" for name in names if name.startswith("max_")]
    assert [flag for flag in flags if flag not in page] == []


@pytest.mark.parametrize("room", ["grammars", "engine", "server"])
def test_every_module_is_on_the_map(room):
    page = (ROOT / "ARCHITECTURE.md").read_text()
    section = page.split(f"## {room}/", 1)[1].split("\n## ", 1)[0]
    modules = {
        path.name if path.suffix else f"{path.name}/"
        for path in (ROOT / room).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert sorted(name for name in modules - {"__init__.py"} if f"`{name}`" not in section) == []


def test_the_keyword_table_is_the_codes():
    assert support_table() in (ROOT / "docs/json_schema.md").read_text()


def test_the_refusal_on_the_schema_page_is_what_is_said(monkeypatch, capsys):
    page = (ROOT / "docs/json_schema.md").read_text()
    ((schema, shown),) = re.findall(
        r"^\$ echo '(.*)' \| tightrope check -\n(.*?)\n\.\.\.$", page, re.MULTILINE | re.DOTALL
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(schema.encode())))
    assert cli.main(["check", "-"]) == 1
    assert capsys.readouterr().out.startswith(f"{shown}\n")


def test_the_picture_is_what_the_tool_draws():
    schema = JsonSchema((ROOT / "docs/images/person.json").read_text())
    assert draw_spec(schema, byte_vocabulary()) == (ROOT / "docs/images/person.dot").read_text()
