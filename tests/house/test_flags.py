"""Every setting of server and engine has a flag, an explanation and one owner."""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from typing import Literal

import pytest

from engine.config import EngineConfig
from server.commands.flags import add_flags, explain_fields, read_flags
from server.config import ServerConfig
from server.engine_process.settings import EngineProcessConfig


@dataclass(frozen=True)
class Paint:
    """How it looks.

    Args:
        colour: of the wall,
            in words.
        coats: layers, 100 % each.
        ratio: of water.
        glossy: whether it shines.
        rooms: where.
        limit: of it; None: as much as there is.
        tank_bytes: of the tank.
        dry_s: until the next coat.

    Raises:
        ValueError: never.
    """

    colour: Literal["red", "green"] = "red"
    coats: int = 2
    ratio: float = 0.5
    glossy: bool = False
    rooms: tuple[str, ...] = ()
    limit: int | None = None
    tank_bytes: int = 3 * 2**20
    dry_s: float = 1.5


def parse(*arguments, kind=Paint):
    parser = argparse.ArgumentParser()
    add_flags(parser, kind, "paint")
    return read_flags(kind, parser.parse_args(arguments))


def test_without_flags_the_defaults_hold():
    assert parse() == Paint()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--colour", "green"], Paint(colour="green")),
        (["--coats", "3"], Paint(coats=3)),
        (["--ratio", "0.25"], Paint(ratio=0.25)),
        (["--glossy"], Paint(glossy=True)),
        (["--no-glossy"], Paint(glossy=False)),
        (["--rooms", "hall", "--rooms", "attic"], Paint(rooms=("hall", "attic"))),
        (["--limit", "0"], Paint(limit=0)),
    ],
)
def test_a_flag_sets_its_field(arguments, expected):
    assert parse(*arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--colour", "blue"], "invalid choice: 'blue'"),
        (["--coats", "two"], "invalid int value: 'two'"),
        (["--colors", "red"], "unrecognized arguments: --colors red"),
    ],
)
def test_a_wrong_flag_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as ending:
        parse(*arguments)
    assert ending.value.code == 2
    assert message in capsys.readouterr().err


def test_the_help_explains_each_flag_with_its_default(capsys):
    parser = argparse.ArgumentParser()
    add_flags(parser, Paint, "paint", without={"rooms"})
    shown = " ".join(parser.format_help().split())
    assert "--colour {red,green} of the wall, in words (default: red)" in shown
    assert "--coats N layers, 100 % each (default: 2)" in shown
    assert "--limit N of it (default: as much as there is)" in shown
    assert "--tank-bytes BYTES of the tank (default: 3145728, that is 3 MiB)" in shown
    assert "--dry-s SECONDS until the next coat (default: 1.5)" in shown
    assert "whether it shines (default: no)" in shown
    assert "--rooms" not in shown


def test_the_help_says_which_flags_may_be_repeated():
    parser = argparse.ArgumentParser()
    add_flags(parser, Paint, "paint")
    shown = " ".join(parser.format_help().split())
    assert "--rooms TEXT where; may be repeated (default: none)" in shown


def test_a_field_of_a_kind_without_flags_is_our_own_mistake():
    @dataclass(frozen=True)
    class Odd:
        """Odd."""

        table: dict[str, int] = dataclasses.field(default_factory=dict)

    with pytest.raises(TypeError, match="no flag can be made"):
        add_flags(argparse.ArgumentParser(), Odd, "odd")


@pytest.mark.parametrize("kind", [EngineConfig, ServerConfig, EngineProcessConfig])
def test_every_setting_is_explained(kind):
    explained = explain_fields(kind)
    assert [name for name, text in explained.items() if text == "not explained"] == []


def test_no_setting_has_two_owners():
    kinds = (EngineConfig, ServerConfig, EngineProcessConfig)
    names = [field.name for kind in kinds for field in dataclasses.fields(kind)]
    assert len(names) == len(set(names))
