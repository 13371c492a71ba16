"""Structural tags: text with tags whose contents are bound, as vLLM, SGLang and XGrammar take them.

Two forms, both of type `structural_tag`:

    {"structures": [{"begin": "<f=a>", "schema": {...}, "end": "</f>"}], "triggers": ["<f="]}
    {"format": FORMAT}

where FORMAT is one of

    {"type": "const_string", "value": "..."}          {"type": "json_schema", "json_schema": {...}}
    {"type": "regex", "pattern": "..."}               {"type": "grammar", "grammar": "..."}
    {"type": "any_text"}
    {"type": "sequence", "elements": [FORMAT, ...]}   {"type": "or", "elements": [FORMAT, ...]}
    {"type": "tag", "begin": "...", "content": FORMAT, "end": "..."}
    {"type": "triggered_tags", "triggers": ["..."], "tags": [TAG, ...], "stop_after_first": false}
    {"type": "tags_with_separator", "tags": [TAG, ...], "separator": "...", "at_least_one": false}

Triggers begin tags: once one is written in free text, the rest of one of its tags must follow.
A field that is none of these is refused, since it may ask for what would then not be enforced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.spec import (
    Cfg,
    Either,
    Embed,
    FreeText,
    Literal,
    Part,
    Regex,
    Repeat,
    Sequence,
    Structure,
    Tagged,
)
from server.request_errors import InvalidValueError, UnsupportedValueError
from server.tag_fields import check_fields, flag_of, objects_of, schema_of, text_of, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    _Reader: TypeAlias = Callable[[Mapping[str, object], str], Part]
    _TagParts: TypeAlias = tuple[str, Part, str]
    """Begin, content, end."""

_KIND: Final = "structural_tag"


def grammar_of(text: str) -> Cfg:
    """A grammar whose language nobody tells: rules of GBNF have `::=`, those of Lark do not."""
    return Cfg("gbnf" if "::=" in text else "lark", text)


def structural_tag(value: Mapping[str, object], param: str) -> Structure:
    """The structure that a structural tag asks for.

    Args:
        value: the object.
        param: its path, for errors.

    Raises:
        RequestError: a field is missing, has a wrong value, or asks for what we cannot enforce.
    """
    if value.get("type", _KIND) != _KIND:
        raise InvalidValueError(f"{param}.type", f"{_KIND!r} is needed")
    if value.get("format") is not None:
        check_fields(value, ("type", "format"), param)
        return Structure(_part(value["format"], f"{param}.format"))
    check_fields(value, ("type", "structures", "triggers"), param)
    tags = [_older_tag(*tag) for tag in objects_of(value, "structures", param)]
    return Structure(_triggered(tags, texts_of(value, "triggers", param), param, max_tags=None))


def _older_tag(value: Mapping[str, object], path: str) -> _TagParts:
    check_fields(value, ("begin", "schema", "end"), path)
    begin, end = text_of(value, "begin", path), text_of(value, "end", path)
    return begin, Embed(schema_of(value, "schema", path)), end


def _part(value: object, path: str) -> Part:
    if not isinstance(value, dict):
        raise InvalidValueError(path, "an object with a type is needed")
    kind = text_of(value, "type", path)
    if kind not in _PARTS:
        raise UnsupportedValueError(
            f"{path}.type", f"{kind[:64]!r} is not supported; use one of {', '.join(_PARTS)}"
        )
    read, fields = _PARTS[kind]
    check_fields(value, ("type", *fields), path)
    return read(value, path)


def _constant(value: Mapping[str, object], path: str) -> Part:
    return Literal(text_of(value, "value", path))


def _json_schema(value: Mapping[str, object], path: str) -> Part:
    return Embed(schema_of(value, "json_schema", path))


def _regex(value: Mapping[str, object], path: str) -> Part:
    return Embed(Regex(text_of(value, "pattern", path)))


def _grammar(value: Mapping[str, object], path: str) -> Part:
    return Embed(grammar_of(text_of(value, "grammar", path)))


def _any_text(value: Mapping[str, object], path: str) -> Part:
    if value.get("excludes"):
        raise UnsupportedValueError(f"{path}.excludes", "excluded texts are not supported")
    return FreeText()


def _sequence(value: Mapping[str, object], path: str) -> Part:
    """Parts in order; free text in front of another part has no end that could be found."""
    parts = tuple(_part(*element) for element in objects_of(value, "elements", path))
    for index, part in enumerate(parts[:-1]):
        if isinstance(part, FreeText) and part.end is None:
            raise UnsupportedValueError(
                f"{path}.elements[{index}]",
                "free text ends nowhere here; put it into a tag with an end, or last",
            )
    return Sequence(parts)


def _alternatives(value: Mapping[str, object], path: str) -> Part:
    return Either(tuple(_part(*element) for element in objects_of(value, "elements", path)))


def _tag(value: Mapping[str, object], path: str) -> Part:
    begin, content, end = _tag_parts(value, path)
    return Sequence((Literal(begin), _ended(content, end)))


def _triggered_tags(value: Mapping[str, object], path: str) -> Part:
    if flag_of(value, "at_least_one", path):
        raise UnsupportedValueError(
            f"{path}.at_least_one", "true is not supported; use tags_with_separator"
        )
    tags = [_tag_parts(*tag) for tag in objects_of(value, "tags", path)]
    max_tags = 1 if flag_of(value, "stop_after_first", path) else None
    return _triggered(tags, texts_of(value, "triggers", path), path, max_tags=max_tags)


def _tags_with_separator(value: Mapping[str, object], path: str) -> Part:
    tags = Either(tuple(_tag(*tag) for tag in objects_of(value, "tags", path)))
    separator = text_of(value, "separator", path)
    maximum = 0 if flag_of(value, "stop_after_first", path) else None
    some = Sequence((tags, Repeat(Sequence((Literal(separator), tags)), maximum=maximum)))
    return some if flag_of(value, "at_least_one", path) else Repeat(some, maximum=1)


_TAG_FIELDS: Final = ("begin", "content", "end")
_PARTS: Final[Mapping[str, tuple[_Reader, tuple[str, ...]]]] = {
    "const_string": (_constant, ("value",)),
    "json_schema": (_json_schema, ("json_schema",)),
    "regex": (_regex, ("pattern",)),
    "grammar": (_grammar, ("grammar",)),
    "any_text": (_any_text, ("excludes",)),
    "sequence": (_sequence, ("elements",)),
    "or": (_alternatives, ("elements",)),
    "tag": (_tag, _TAG_FIELDS),
    "triggered_tags": (_triggered_tags, ("triggers", "tags", "at_least_one", "stop_after_first")),
    "tags_with_separator": (
        _tags_with_separator,
        ("tags", "separator", "at_least_one", "stop_after_first"),
    ),
}
"""Each type of part: what reads it, and the fields beside its type."""


def _tag_parts(value: Mapping[str, object], path: str) -> _TagParts:
    check_fields(value, ("type", *_TAG_FIELDS), path)
    content = _part(value.get("content"), f"{path}.content")
    return text_of(value, "begin", path), content, text_of(value, "end", path)


def _ended(content: Part, end: str) -> Part:
    """A part and the literal behind it; free text ends where that is first written."""
    if isinstance(content, FreeText) and content.end is None and not content.tags and end:
        return FreeText(end=end)
    return Sequence((content, Literal(end)))


def _triggered(
    tags: list[_TagParts], triggers: list[str], path: str, *, max_tags: int | None
) -> Part:
    """Free text in which each trigger must be the beginning of one of its tags."""
    bodies: dict[str, list[Part]] = {trigger: [] for trigger in triggers}
    for begin, content, end in tags:
        trigger = next((trigger for trigger in triggers if begin.startswith(trigger)), None)
        if trigger is None:
            raise InvalidValueError(
                f"{path}.triggers", f"no trigger begins the tag {begin[:64]!r}; add one"
            )
        rest = Literal(begin.removeprefix(trigger))
        bodies[trigger].append(Sequence((rest, _ended(content, end))))
    for trigger, options in bodies.items():
        if not options:
            raise InvalidValueError(f"{path}.triggers", f"no tag begins with {trigger[:64]!r}")
    tagged = tuple(Tagged(trigger, Either(tuple(options))) for trigger, options in bodies.items())
    return FreeText(tagged, max_tags=max_tags)
