"""The metaschemas of the drafts, as documents that any schema may refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from grammars.schema.document import Json

_PREFIXES: Final = ("http://json-schema.org/draft-", "https://json-schema.org/draft/")


def find_metaschema(uri: str) -> Json:
    """The metaschema, or vocabulary of one, whose URI this is; None where it is none."""
    if not uri.startswith(_PREFIXES):
        return None
    # Late, since it takes 0.1 s and next to no schema refers to a metaschema.
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped] # has no stubs

    known = REGISTRY.get(uri)
    return None if known is None else cast("Json", known.contents)
