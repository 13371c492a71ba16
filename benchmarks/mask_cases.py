"""The schemas of the mask benchmark, each with valid and invalid documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from benchmarks.instances import InstanceGenerator

if TYPE_CHECKING:
    from grammars.spec import Whitespace

_FILES: Final = (
    "flat", "nested", "strings", "arrays", "recursive", "optional_50", "tools", "open_object",
)  # fmt: skip
_SEPARATORS: Final[dict[Whitespace, tuple[str, str]]] = {
    "compact": (",", ":"),
    "single": (", ", ": "),
}
CASE_NAMES: Final = ("flat", "nested", "enum_1000", *_FILES[2:])
"""The cases in the order of the tables."""


@dataclass(frozen=True, slots=True)
class MaskCase:
    """One schema and the documents that are written under it.

    Args:
        name: the file's name.
        about: one sentence.
        schema: JSON text.
        valid: documents that every backend should be able to write.
        invalid: documents that no backend may accept.
    """

    name: str
    about: str
    schema: str
    valid: tuple[str, ...]
    invalid: tuple[str, ...]


def load_case(name: str, *, whitespace: Whitespace, num_documents: int, seed: int) -> MaskCase:
    """Read or generate a case, and draw its valid documents.

    Args:
        name: one of CASE_NAMES.
        whitespace: how the documents are spelled: without any, or as `json.dumps` does by default.
        num_documents: how many valid documents to draw.
        seed: of the generator.
    """
    source = _enum_source(1000) if name == "enum_1000" else _read(name)
    generator = InstanceGenerator(source["schema"], seed)

    def spell(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=_SEPARATORS[whitespace])

    return MaskCase(
        name=name,
        about=source["about"],
        schema=json.dumps(source["schema"], ensure_ascii=False),
        valid=tuple(spell(generator.draw()) for _ in range(num_documents)),
        invalid=(*map(spell, source["invalid"]), *source["invalid_texts"]),
    )


def _read(name: str) -> dict[str, Any]:
    source: dict[str, Any] = json.loads(
        (files("benchmarks") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    )
    return source


def _enum_source(size: int) -> dict[str, Any]:
    """An object whose one field is one of `size` strings with many common prefixes."""
    options = [
        f"{area}-{shelf:02d}-{box}" for area in "ABCDE" for shelf in range(20) for box in range(10)
    ]
    return {
        "about": f"A field with {size} allowed strings.",
        "schema": {
            "type": "object",
            "properties": {"place": {"enum": options[:size]}, "count": {"type": "integer"}},
            "required": ["place", "count"],
            "additionalProperties": False,
        },
        "invalid": [
            {"place": "A-20-0", "count": 1},
            {"place": "F-00-0", "count": 1},
            {"place": "A-00", "count": 1},
            {"place": "A-00-00", "count": 1},
            {"place": "", "count": 1},
            {"place": "A-00-0"},
        ],
        "invalid_texts": [],
    }
