"""What the fuzzers write: schemas, patterns and grammars that are nearly right, and model texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from server.calls.formats import calls_text

if TYPE_CHECKING:
    from server.calls.syntax import CallSyntax

JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 2, 1.5, 10**400, "", "x", "\ud800", [], [1], {}, {"type": "x"}, [[]], ["a"]]
)
NAMES = st.sampled_from(["a", "b", "ab", "", "é", "a b", "\x00", "😀", "__proto__", "$ref"])
SMALL = st.integers(-1, 4)


def patterns() -> st.SearchStrategy[str]:
    """Regular expressions: most of them well formed."""
    atoms = st.sampled_from(
        [
            "a",
            "b",
            ".",
            r"\d",
            r"\w",
            r"\s",
            r"\b",
            "^",
            "$",
            "[a-c]",
            "[^a]",
            r"\.",
            "é",
            "😀",
            r"\u0041",
            r"\p{L}",
            r"\x41",
            "[a-",
            "]",
            r"\1",
            "(?i)",
            r"\B",
            r"[\d-x]",
            "{",
            r"\Z",
            "\n",
        ]
    )
    counts = st.sampled_from(
        ["*", "+", "?", "{2}", "{0,3}", "{1,}", "{3,1}", "*?", "+?", "{,2}", "{99999999}", "**"]
    )

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        groups = st.sampled_from(["(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<n>", "(?>", "(?#"])
        return st.one_of(
            st.builds("{}{}".format, inner, counts),
            st.builds("{}{}".format, inner, inner),
            st.builds("{}|{}".format, inner, inner),
            st.builds("{}{})".format, groups, inner),
        )

    return st.one_of(
        st.recursive(atoms, grow, max_leaves=8), st.text("()[]{}|*+?^$\\.a1-,:=!<>", max_size=12)
    )


def schemas() -> st.SearchStrategy[str]:
    """Texts of JSON Schemas: most keywords, sometimes of wrong types; seldom broken JSON."""
    values = st.one_of(JUNK, st.integers(-3, 12), st.floats(-5, 5), st.text('ab"\\é', max_size=3))
    scalar_keywords = {
        "type": st.sampled_from(
            [
                "string",
                "integer",
                "number",
                "boolean",
                "null",
                "array",
                "object",
                ["string", "null"],
            ]
        ),
        "const": values,
        "enum": st.lists(values, max_size=3),
        "pattern": patterns(),
        "format": st.sampled_from(["date", "email", "uuid", "ipv6", "regex", "nonsense", "uri"]),
        "minLength": SMALL,
        "maxLength": SMALL,
        "minimum": st.one_of(SMALL, st.floats(-2, 2)),
        "maximum": st.one_of(SMALL, st.floats(-2, 2)),
        "exclusiveMinimum": SMALL,
        "exclusiveMaximum": SMALL,
        "multipleOf": st.sampled_from([1, 2, 3, 0.5, 0.1, 0, 1e-5]),
        "$ref": st.sampled_from(["#", "#/$defs/a", "#/$defs/missing", "x.json", "#/%zz", "#a"]),
        "title": st.text(max_size=3),
    }

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(inner, max_size=3)
        named = st.dictionaries(NAMES, inner, max_size=3)
        keywords: dict[str, st.SearchStrategy[Any]] = {
            "properties": named,
            "required": st.lists(NAMES, max_size=3, unique=True),
            "additionalProperties": inner,
            "unevaluatedProperties": inner,
            "patternProperties": st.dictionaries(patterns(), inner, max_size=2),
            "propertyNames": inner,
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2), max_size=2),
            "dependentSchemas": named,
            "minProperties": SMALL,
            "maxProperties": SMALL,
            "items": inner,
            "prefixItems": several,
            "contains": inner,
            "minContains": SMALL,
            "maxContains": SMALL,
            "minItems": SMALL,
            "maxItems": SMALL,
            "uniqueItems": st.booleans(),
            "unevaluatedItems": inner,
            "anyOf": several,
            "oneOf": several,
            "allOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
        }
        return _some(scalar_keywords | keywords, max_size=4)

    leaves = st.one_of(st.booleans(), _some(scalar_keywords, max_size=3), JUNK)
    roots = st.builds(
        lambda root, named: root | {"$defs": {"a": named}} if isinstance(root, dict) else root,
        st.recursive(leaves, grow, max_leaves=6),
        st.recursive(leaves, grow, max_leaves=3),
    )
    texts = roots.map(json.dumps)
    return st.one_of(texts, texts, texts, st.builds(_with_change, texts, *_CHANGE))


def _some(
    keywords: dict[str, st.SearchStrategy[Any]], *, max_size: int
) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with a few of the keywords; one value in twenty is junk."""

    def fill(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries(
            {name: st.integers(0, 19).flatmap(_junk_or(keywords[name])) for name in names}
        )

    return st.lists(st.sampled_from(sorted(keywords)), max_size=max_size, unique=True).flatmap(fill)


def _junk_or(usual: st.SearchStrategy[Any]) -> Any:
    return lambda number: JUNK if number == 0 else usual


_CHANGE = (st.integers(0, 400), st.integers(0, 3), st.text(max_size=3))


def _with_change(text: str, place: int, num_cut: int, inserted: str) -> str:
    at = place % (len(text) + 1)
    return text[:at] + inserted + text[at + num_cut :]


def gbnf_texts() -> st.SearchStrategy[str]:
    """GBNF: pieces of its syntax, in any order behind `root ::=`."""
    pieces = st.sampled_from(
        [
            '"a"',
            '"',
            "[a-z]",
            "[^\\n]",
            "(",
            ")",
            "|",
            "*",
            "+",
            "?",
            "{2}",
            "{,3}",
            "{9999}",
            "x",
            "root",
            "\nx ::= ",
            "\ny::=",
            " ",
            "\n",
            "#c\n",
            '"\\x41"',
            '"\\u00e9"',
            "[",
            "]",
            ".",
            "::=",
            '""',
        ]
    )
    return st.lists(pieces, max_size=14).map(lambda parts: "root ::= " + " ".join(parts))


def lark_texts() -> st.SearchStrategy[str]:
    """Lark: pieces of its syntax, in any order behind `start:`."""
    pieces = st.sampled_from(
        [
            '"a"',
            '"b"i',
            "/a+/",
            "/[/",
            "/a/i",
            "(",
            ")",
            "[",
            "]",
            "|",
            "*",
            "+",
            "?",
            "~2",
            "~1..3",
            "X",
            "x",
            "start",
            "\nX: ",
            "\nx: ",
            "\n?y: ",
            "\n%ignore X",
            "\n%import common.INT",
            "->",
            "\n%declare Z",
            "z{x}",
            "\n",
            "//c\n",
            '"a".."c"',
            "X.2",
            '""',
            "\n%override X: ",
        ]
    )
    return st.lists(pieces, max_size=14).map(lambda parts: "start: " + " ".join(parts))


def model_texts(syntax: CallSyntax) -> st.SearchStrategy[str]:
    """What a model may write: pieces of tags, calls and thoughts, whole or broken."""
    words = [
        *(*syntax.section_open, *syntax.before_name, *syntax.before_arguments),
        *(*syntax.after_arguments, *syntax.between, *syntax.section_close),
    ]
    calls = [("f", {"a": "x"}), ("g", {"n": 1, "o": {"b": [None]}}), ("f", {}), ("h", {"a": "é"})]
    pieces = st.sampled_from(
        [
            *words,
            *(word[: len(word) // 2] for word in words),
            *(calls_text(syntax, [call]) for call in calls),
            calls_text(syntax, calls),
            "<parameter=a>",
            "</parameter>",
            "f",
            "0",
            "<tool_call>",
            "</tool_call>",
            "<think>",
            "</think>",
            "<tool",
            "_call>",
            "</",
            "\n",
            "é",
            "😀",
            '{"name": "f", "arguments": {"a": "',
            '"}}',
            "{",
            "}",
            '"',
            "\\",
            '{"name": "g"',
            "null",
            " ",
            '{"name": "f", "arguments": {}}',
            "<function=f>",
            "</function>",
            "[TOOL_CALLS]",
            "plain",
        ]
    )
    return st.one_of(st.lists(pieces, max_size=16).map("".join), st.text(max_size=30))


def json_texts() -> st.SearchStrategy[bytes]:
    """Bodies: JSON, nearly JSON, and bytes."""
    leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4))
    values = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=8,
    )
    texts = st.builds(json.dumps, values, ensure_ascii=st.booleans())
    changed = st.builds(_with_change, texts, *_CHANGE)
    encoded = st.one_of(texts, changed).map(lambda text: text.encode(errors="surrogatepass"))
    return st.one_of(encoded, st.binary(max_size=20))


def structural_tags() -> st.SearchStrategy[dict[str, Any]]:
    """Objects that are nearly structural tags."""
    words = st.sampled_from(["<a>", "<a", "</a>", "<", ">", "", "é", "\n", "<tool_call>", "\ud800"])
    flags = st.sampled_from([True, False, None])
    loaded = st.sampled_from(["{}", '{"type": "object"}', "false"]).map(json.loads)

    def of(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({"type": st.just(kind), **fields})

    leaves = st.one_of(
        of("const_string", value=words),
        of("json_schema", json_schema=loaded | JUNK),
        of("regex", pattern=patterns()),
        of("grammar", grammar=gbnf_texts()),
        of("any_text"),
        JUNK,
    )

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        tags = of("tag", begin=words, content=inner, end=words)
        several = st.lists(tags, max_size=3)
        elements = st.lists(inner, max_size=3)
        return st.one_of(
            tags,
            of("sequence", elements=elements),
            of("or", elements=elements),
            of("triggered_tags", triggers=st.lists(words), tags=several, stop_after_first=flags),
            of("tags_with_separator", tags=several, separator=words, at_least_one=flags),
        )

    older = st.fixed_dictionaries({"begin": words, "schema": loaded, "end": words})
    return st.one_of(
        st.fixed_dictionaries({"format": st.recursive(leaves, grow, max_leaves=8)}),
        st.fixed_dictionaries(
            {"structures": st.lists(older, max_size=3), "triggers": st.lists(words, max_size=3)}
        ),
    )
