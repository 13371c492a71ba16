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
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.spec import (
    Cfg,
    Either,
    Embed,
    FreeText,
    JsonSchema,
    Literal,
    Part,
    Regex,
    Repeat,
    Sequence,
    Structure,
    Tagged,
)
from server.errors import InvalidValueError, MissingFieldError, UnsupportedValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def grammar_of(text: str) -> Cfg:
    """A grammar whose language nobody tells: rules of GBNF have `::=`, those of Lark do not."""
    return Cfg("gbnf" if "::=" in text else "lark", text)


def structural_tag(value: Mapping[str, object], param: str) -> Structure:
    """The structure that a structural tag asks for.

    Args:
        value: the object, its `type` checked.
        param: its path, for errors.

    Raises:
        RequestError: a field is missing, has a wrong value, or asks for what we cannot enforce.
    """
    if value.get("format") is not None:
        return Structure(_part(value["format"], f"{param}.format"))
    structures = _objects(value, "structures", param)
    tags: list[tuple[str, Part, str]] = [
        (_text(tag, "begin", path), Embed(_schema(tag, "schema", path)), _text(tag, "end", path))
        for tag, path in structures
    ]
    return Structure(_triggered(tags, _texts(value, "triggers", param), param, max_tags=None))


def _part(value: object, path: str) -> Part:
    if not isinstance(value, dict):
        raise InvalidValueError(path, "an object with a type is needed")
    kind = _text(value, "type", path)
    if kind not in _PARTS:
        raise UnsupportedValueError(
            f"{path}.type", f"{kind[:64]!r} is not supported; use one of {', '.join(_PARTS)}"
        )
    return _PARTS[kind](value, path)


def _constant(value: Mapping[str, object], path: str) -> Part:
    return Literal(_text(value, "value", path))


def _json_schema(value: Mapping[str, object], path: str) -> Part:
    return Embed(_schema(value, "json_schema", path))


def _regex(value: Mapping[str, object], path: str) -> Part:
    return Embed(Regex(_text(value, "pattern", path)))


def _grammar(value: Mapping[str, object], path: str) -> Part:
    return Embed(grammar_of(_text(value, "grammar", path)))


def _any_text(value: Mapping[str, object], path: str) -> Part:
    if value.get("excludes"):
        raise UnsupportedValueError(f"{path}.excludes", "excluded texts are not supported")
    return FreeText()


def _sequence(value: Mapping[str, object], path: str) -> Part:
    """Parts in order; free text in front of another part has no end that could be found."""
    parts = tuple(_part(*element) for element in _objects(value, "elements", path))
    for index, part in enumerate(parts[:-1]):
        if isinstance(part, FreeText) and part.end is None:
            raise UnsupportedValueError(
                f"{path}.elements[{index}]",
                "free text ends nowhere here; put it into a tag with an end, or last",
            )
    return Sequence(parts)


def _alternatives(value: Mapping[str, object], path: str) -> Part:
    return Either(tuple(_part(*element) for element in _objects(value, "elements", path)))


def _tag(value: Mapping[str, object], path: str) -> Part:
    begin, content, end = _tag_parts(value, path)
    return Sequence((Literal(begin), _ended(content, end)))


def _triggered_tags(value: Mapping[str, object], path: str) -> Part:
    if value.get("at_least_one"):
        raise UnsupportedValueError(
            f"{path}.at_least_one", "true is not supported; use tags_with_separator"
        )
    tags = [_tag_parts(*tag) for tag in _objects(value, "tags", path)]
    max_tags = 1 if value.get("stop_after_first") else None
    return _triggered(tags, _texts(value, "triggers", path), path, max_tags=max_tags)


def _tags_with_separator(value: Mapping[str, object], path: str) -> Part:
    tags = Either(tuple(_tag(*tag) for tag in _objects(value, "tags", path)))
    separator = _text(value, "separator", path)
    maximum = 0 if value.get("stop_after_first") else None
    some = Sequence((tags, Repeat(Sequence((Literal(separator), tags)), maximum=maximum)))
    return some if value.get("at_least_one") else Repeat(some, maximum=1)


_PARTS: dict[str, Callable[[Mapping[str, object], str], Part]] = {
    "const_string": _constant,
    "json_schema": _json_schema,
    "regex": _regex,
    "grammar": _grammar,
    "any_text": _any_text,
    "sequence": _sequence,
    "or": _alternatives,
    "tag": _tag,
    "triggered_tags": _triggered_tags,
    "tags_with_separator": _tags_with_separator,
}


def _tag_parts(value: Mapping[str, object], path: str) -> tuple[str, Part, str]:
    content = _part(value.get("content"), f"{path}.content")
    return _text(value, "begin", path), content, _text(value, "end", path)


def _ended(content: Part, end: str) -> Part:
    """A part and the literal behind it; free text ends where that is first written."""
    if isinstance(content, FreeText) and content.end is None and not content.tags and end:
        return FreeText(end=end)
    return Sequence((content, Literal(end)))


def _triggered(
    tags: list[tuple[str, Part, str]], triggers: list[str], path: str, *, max_tags: int | None
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


def _objects(
    value: Mapping[str, object], name: str, path: str
) -> list[tuple[dict[str, object], str]]:
    """The objects of a list that is not empty, each with its path."""
    items = value.get(name)
    path = f"{path}.{name}"
    if not isinstance(items, list) or not items:
        raise InvalidValueError(path, "a list with at least 1 object is needed")
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise InvalidValueError(f"{path}[{index}]", "an object is needed")
    return [(item, f"{path}[{index}]") for index, item in enumerate(items)]


def _texts(value: Mapping[str, object], name: str, path: str) -> list[str]:
    texts = value.get(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise InvalidValueError(f"{path}.{name}", "a list of texts is needed, none of them empty")
    return list(dict.fromkeys(texts))


def _text(value: Mapping[str, object], name: str, path: str) -> str:
    text = value.get(name)
    if text is None:
        raise MissingFieldError(f"{path}.{name}")
    if not isinstance(text, str):
        raise InvalidValueError(f"{path}.{name}", "a text is needed")
    return text


def _schema(value: Mapping[str, object], name: str, path: str) -> JsonSchema:
    schema = value.get(name)
    if not isinstance(schema, dict | bool):
        raise InvalidValueError(f"{path}.{name}", "a JSON Schema is needed: an object or a boolean")
    return JsonSchema.from_value(schema)
