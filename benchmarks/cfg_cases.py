"""The context-free grammars of the mask benchmark, in Lark and in GBNF, with texts for both."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from grammars.spec import CfgSyntax

_NAMES: Final = ("json", "arithmetic", "query", "program", "ambiguous")
CFG_CASE_NAMES: Final = tuple(f"{name}.{syntax}" for syntax in ("lark", "gbnf") for name in _NAMES)
"""The cases in the order of the tables."""


@dataclass(frozen=True, slots=True)
class CfgCase:
    """One grammar and the texts that are written under it.

    Args:
        name: the file's name.
        about: one sentence.
        syntax: of the grammar.
        grammar: its text.
        valid: texts that every backend should be able to write.
        invalid: texts that no backend may accept.
    """

    name: str
    about: str
    syntax: CfgSyntax
    grammar: str
    valid: tuple[str, ...]
    invalid: tuple[str, ...]


def load_cfg_case(file_name: str) -> CfgCase:
    """Read a case.

    Args:
        file_name: one of CFG_CASE_NAMES.
    """
    name, syntax = file_name.split(".")
    folder = files("benchmarks") / "cfgs"
    texts = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    return CfgCase(
        name=file_name,
        about=texts["about"],
        syntax=cast("CfgSyntax", syntax),
        grammar=(folder / file_name).read_text(encoding="utf-8"),
        valid=tuple(texts["valid"]),
        invalid=tuple(texts["invalid"]),
    )
