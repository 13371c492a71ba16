"""SchemaJudge: whether a text is valid JSON under a schema, by `jsonschema` and nothing of ours.

`jsonschema` searches patterns with Python's `re`, whose syntax is not JSON Schema's. Here they are
searched with `regex`, which knows `\\p{..}`, after the few signs that mean something else are
respelled. A schema is not judged if its own draft calls it malformed, or if a pattern is none of
`regex`.
"""

from __future__ import annotations

import json
import warnings
from decimal import Decimal, InvalidOperation, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import jsonschema
import referencing.exceptions
import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFAULT: Final = jsonschema.Draft202012Validator
_DIGITS: Final = 5_000
_SIGN: Final = regex.compile(r"\[\^?(?:\\.|[^\]\\])*\]|\\.|\$", regex.DOTALL)
"""Classes, escapes, and the end of the text."""
_SPACES: Final = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""ECMA-262, 12.2 and 12.3: what `\\s` is."""


class NotJudgedError(Exception):
    """`jsonschema` cannot say whether a text is valid."""


class SchemaJudge:
    """Judges texts under one schema.

    Args:
        text: the schema.

    Raises:
        NotJudgedError: it cannot be judged.
    """

    def __init__(self, text: str) -> None:
        schema = exact_json(text)
        named = schema if isinstance(schema, dict) else {}
        draft = jsonschema.validators.validator_for(named, default=_DEFAULT)
        try:
            draft.check_schema(schema)
        except (jsonschema.SchemaError, RecursionError, regex.error) as error:
            raise NotJudgedError(str(error)[:200]) from error
        keywords = {
            "pattern": _pattern,
            "patternProperties": _pattern_properties,
            "multipleOf": _multiple_of,
        }
        known = {name: check for name, check in keywords.items() if name in draft.VALIDATORS}
        self._validator = jsonschema.validators.extend(draft, known)(schema)

    def error_of(self, text: str) -> str | None:
        """Why a text is invalid; None: it is valid.

        Raises:
            NotJudgedError: a part of the schema that matters here cannot be judged.
        """
        try:
            with localcontext(prec=_DIGITS):  # multiples of numbers with hundreds of digits
                error = next(self._validator.iter_errors(exact_json(text)), None)
        except (regex.error, RecursionError, referencing.exceptions.Unresolvable) as why:
            raise NotJudgedError(str(why)[:200]) from why
        return None if error is None else f"{error.json_path}: {error.message[:200]}"


def exact_json(text: str) -> Any:
    """Parsed JSON without floats: integers by value (5.0 is one), other numbers as decimals."""

    def number(spelling: str) -> int | float | Decimal:
        try:
            value = Decimal(spelling)
        except InvalidOperation:
            return float(spelling)
        is_small_integer = value.adjusted() < 100 and value == value.to_integral_value()
        return int(value) if is_small_integer else value

    return json.loads(text, parse_float=number)


@lru_cache(maxsize=1000)
def _searcher(pattern: str) -> Any:
    """A pattern of ECMA-262: `$` is the very end, `\\d` and `\\w` are ASCII, `\\s` is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of `--` in a class: no set difference
        return regex.compile(_SIGN.sub(_respelled, pattern), regex.ASCII)


def _respelled(sign: Any) -> str:
    match sign[0]:
        case "$":
            return r"\Z"
        case r"\s":
            return f"[{_SPACES}]"
        case r"\S":
            return f"[^{_SPACES}]"
        case str(text) if text[0] == "[":
            return text.replace(r"\s", _SPACES)
        case text:
            return str(text)


def is_multiple(number: float | Decimal, of: float | Decimal) -> bool:
    """Whether a number is an integer times another, exactly, however many digits it has."""
    (digits, exponent), (divisor, scale) = _exact(number), _exact(of)
    if exponent >= scale:
        return digits * pow(10, exponent - scale, divisor) % divisor == 0
    zeros = scale - exponent
    return digits == 0 or (zeros < len(str(digits)) and digits % (divisor * 10**zeros) == 0)


def _exact(number: float | Decimal) -> tuple[int, int]:
    """A number as an integer and the power of ten that it is multiplied with."""
    sign, digits, exponent = Decimal(number).as_tuple()
    assert isinstance(exponent, int), "JSON has no other numbers"
    value = int("".join(map(str, digits)))
    return -value if sign else value, exponent


def _multiple_of(validator: Any, of: float | Decimal, instance: Any, _: Any) -> Iterator[Any]:
    if validator.is_type(instance, "number") and not is_multiple(instance, of):
        yield jsonschema.ValidationError(f"{instance!r} is not a multiple of {of}")


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _searcher(pattern).search(instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: Any, _: Any
) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for key, value in instance.items():
            if _searcher(pattern).search(key):
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)
