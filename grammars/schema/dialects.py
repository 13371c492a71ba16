"""Dialect: what a document's `$schema` changes in how it is read.

Everything else of the drafts is read wherever it stands, as real schemas mix them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Dialect:
    """In what a draft of JSON Schema differs from others.

    Args:
        identifiers: keywords that give a schema its URI.
        ref_hides_siblings: whether everything beside `$ref` is ignored.
        contains_evaluates: whether elements that `contains` counts are evaluated, so that
            `unevaluatedItems` does not apply to them.
    """

    identifiers: tuple[str, ...]
    ref_hides_siblings: bool
    contains_evaluates: bool = True


MIXED: Final = Dialect(("$id", "id"), ref_hides_siblings=False)
"""Documents that name no known draft: 2020-12, with the `id` of draft-04 understood."""

_DRAFT_04: Final = Dialect(("id",), ref_hides_siblings=True)
_DRAFT_07: Final = Dialect(("$id",), ref_hides_siblings=True)
_DRAFT_2019_09: Final = Dialect(("$id",), ref_hides_siblings=False, contains_evaluates=False)
_DRAFT_2020_12: Final = Dialect(("$id",), ref_hides_siblings=False)

_BY_URI: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        "json-schema.org/draft-03/schema": _DRAFT_04,
        "json-schema.org/draft-04/schema": _DRAFT_04,
        "json-schema.org/draft-06/schema": _DRAFT_07,
        "json-schema.org/draft-07/schema": _DRAFT_07,
        "json-schema.org/draft/2019-09/schema": _DRAFT_2019_09,
        "json-schema.org/draft/2020-12/schema": _DRAFT_2020_12,
    }
)


def find_dialect(schema_uri: object) -> Dialect | None:
    """The dialect that the value of a `$schema` names; None for one that is not known.

    `http` and `https`, with or without an empty fragment, are one name.
    """
    return _named_dialect(schema_uri) if isinstance(schema_uri, str) else None


@lru_cache(maxsize=64)
def _named_dialect(schema_uri: str) -> Dialect | None:
    return _BY_URI.get(urldefrag(schema_uri).url.partition("://")[2])
