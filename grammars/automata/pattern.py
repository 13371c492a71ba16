r"""Parser of regular expressions: ECMA-262 (2025), section 22.2, with the u flag.

What u forbids and Annex B allows is accepted where it has one meaning only, because the validators
of real schemas accept it: identity escapes of any ASCII character but letters and digits (`\_`,
`\@`, `\"`), `]`, `}` and a `{` that begins no quantifier as themselves, a `-` beside a class escape
(`[\w-.]`), and a repeated lookahead.

Refused by name: backreferences and modifiers `(?i:...)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from grammars.automata.charset import CharSet
from grammars.automata.pattern_ast import (
    Alternation,
    Anchor,
    Characters,
    Concatenation,
    Look,
    Node,
    Repetition,
)
from grammars.automata.pattern_escape import parse_escape
from grammars.automata.pattern_reader import PatternReader
from grammars.automata.unicode_sets import DOT
from grammars.errors import InvalidGrammarError, LimitExceededError

MAX_PATTERN_CHARS: Final = 2**20
"""Of any length, a pattern of millions of characters would be read for seconds, and then be refused
for its states."""

MAX_PATTERN_DEPTH: Final = 100
"""Groups inside groups, at most; those that add nothing to what is in them are not counted."""

MAX_OPEN_GROUPS: Final = 100_000
"""Groups inside groups, all of them counted: each takes memory while it is open."""

_QUANTIFIER = re.compile(r"[*+?]|\{(?P<minimum>[0-9]+)(?P<comma>,(?P<maximum>[0-9]*))?\}")
_NO_MINIMUM = re.compile(r"\{,[0-9]+\}")  # a literal to Annex B, a quantifier to Python
_LOOK = re.compile(r"<?[=!]")
_GROUP_NAME = re.compile(r"<([^>]*)>")
_LITERALS = re.compile(r"[^\\^$.*+?()\[\]{}|]{1,4096}(?![*+?{])")
"""Characters that mean themselves, but for one that may be repeated; so many that reading them does
not keep the interpreter from other threads."""

_PLAIN_CLASS = re.compile(r"[^\\\]]{0,64}\]")
"""What follows the bracket of a class without escapes; patterns have the same few over and over."""


@lru_cache(maxsize=4096)
def _character(character: str) -> Characters:
    return Characters(CharSet.span(ord(character), ord(character)))


def parse_pattern(text: str, *, pointer: str = "") -> Node:
    """Parse a pattern; captures and laziness leave no trace, as they do not change the language.

    Args:
        text: the pattern, without delimiters or flags.
        pointer: JSON Pointer of the schema node that holds it, for errors.

    Raises:
        InvalidGrammarError: malformed; the reason has the offset in characters.
        UnsupportedError: a construct that is not enforced; the reason names it and its offset.
        LimitExceededError: longer than MAX_PATTERN_CHARS, of more parts than MAX_PATTERN_PARTS of
            the reader, or groups nested deeper than MAX_PATTERN_DEPTH or MAX_OPEN_GROUPS.
    """
    if len(text) > MAX_PATTERN_CHARS:
        what = f"a pattern of {len(text)} characters"
        raise LimitExceededError("max_pattern_chars", MAX_PATTERN_CHARS, what)
    return _Parser(PatternReader(text, pointer)).parse()


@dataclass(slots=True)
class _Group:
    """An open group: the options before the last `|`, and the parts since."""

    offset: int
    look: str = ""  # how a lookaround opens, after the question mark
    options: list[Node] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)
    depth: int = 0  # of the groups in it
    reads_text: bool = False  # whether any part is more than an assertion

    @property
    def is_transparent(self) -> bool:
        """Whether it stands for its one part."""
        return not self.look and not self.options and len(self.parts) == 1

    def end_option(self) -> None:
        self.options.append(
            self.parts[0] if len(self.parts) == 1 else Concatenation(tuple(self.parts))
        )
        self.parts = []

    def node(self) -> Node:
        self.end_option()
        return self.options[0] if len(self.options) == 1 else Alternation(tuple(self.options))


class _Parser:
    """One pass over the pattern with an explicit stack of open groups."""

    def __init__(self, reader: PatternReader) -> None:
        self._reader = reader
        self._groups = [_Group(0)]

    def parse(self) -> Node:
        reader = self._reader
        while not reader.at_end:
            reader.count_parts(1)
            literals = reader.take_match(_LITERALS)
            if literals is not None:
                self._groups[-1].parts += map(_character, literals[0])
                self._groups[-1].reads_text = True
                continue
            offset = reader.offset
            match reader.take():
                case "|":
                    self._groups[-1].end_option()
                case "(":
                    self._open_group(offset)
                case ")":
                    if len(self._groups) == 1:
                        raise reader.invalid("')' closes no group", offset)
                    self._close_group()
                case "^":
                    self._groups[-1].parts.append(Anchor.START)
                case "$":
                    self._groups[-1].parts.append(Anchor.END)
                case ".":
                    self._add(Characters(DOT))
                case "[":
                    self._add(Characters(_character_class(reader, offset)))
                case "\\" if reader.take_if("b"):
                    self._groups[-1].parts.append(Anchor.WORD_BOUNDARY)
                case "\\" if reader.take_if("B"):
                    self._groups[-1].parts.append(Anchor.NO_WORD_BOUNDARY)
                case "\\":
                    self._add(Characters(parse_escape(reader, offset, in_class=False)))
                case "*" | "+" | "?":
                    raise reader.invalid("a quantifier has nothing to repeat", offset)
                case "{" if _QUANTIFIER.match(reader.text, offset):
                    raise reader.invalid("a quantifier has nothing to repeat", offset)
                case "{" if _NO_MINIMUM.match(reader.text, offset):
                    raise reader.invalid("a quantifier needs a minimum, as in {0,5}", offset)
                case character:
                    self._add(_character(character))
        if len(self._groups) > 1:
            raise reader.invalid("the group is never closed", self._groups[-1].offset)
        return self._groups[0].node()

    def _add(self, atom: Node, *, reads_text: bool = True) -> bool:
        """Append an atom with the quantifier that follows it; whether one does.

        Assertions hold as often as they are asked for, so of them one copy is enough.
        """
        reader = self._reader
        offset = reader.offset
        quantifier = reader.take_match(_QUANTIFIER)
        if quantifier is not None:
            match quantifier[0]:
                case "*":
                    minimum, maximum = 0, None
                case "+":
                    minimum, maximum = 1, None
                case "?":
                    minimum, maximum = 0, 1
                case _:
                    minimum, maximum = _bounds(quantifier)
            if maximum is not None and minimum > maximum:
                raise reader.invalid("the numbers of the quantifier are out of order", offset)
            reader.take_if("?")  # lazy: the same language
            if not reads_text:
                minimum, maximum = min(minimum, 1), 0 if maximum == 0 else 1
            reads_text = reads_text and maximum != 0
            atom = Repetition(atom, minimum, maximum)
        self._groups[-1].parts.append(atom)
        self._groups[-1].reads_text |= reads_text
        return quantifier is not None

    def _open_group(self, offset: int) -> None:
        reader = self._reader
        if reader.take_if("?"):
            look = reader.take_match(_LOOK)
            name = reader.take_match(_GROUP_NAME) if look is None else None
            if look is not None:
                self._push_group(_Group(offset, look[0]))
                return
            if name is not None:
                if not name[1].replace("$", "_").isidentifier():
                    raise reader.invalid(f"{name[1]!r} is not a group name", offset)
            elif not reader.take_if(":"):
                if not reader.at_end and reader.take() in "ims-":
                    raise reader.unsupported("a group with modifiers", offset)
                raise reader.invalid("unknown kind of group after '(?'", offset)
        self._push_group(_Group(offset))

    def _push_group(self, group: _Group) -> None:
        if len(self._groups) > MAX_OPEN_GROUPS:
            raise LimitExceededError("max_open_groups", MAX_OPEN_GROUPS, "a pattern's groups")
        self._groups.append(group)

    def _close_group(self) -> None:
        group = self._groups.pop()
        is_deeper = not group.is_transparent
        if not group.look:
            is_deeper |= self._add(group.node(), reads_text=group.reads_text)
        else:
            look = Look(group.node(), "<" not in group.look, "!" in group.look)
            if look.is_ahead:  # Annex B lets a lookahead be repeated
                self._add(look, reads_text=False)
            else:
                self._groups[-1].parts.append(look)
        depth = group.depth + is_deeper
        if depth > MAX_PATTERN_DEPTH:
            raise LimitExceededError("max_pattern_depth", MAX_PATTERN_DEPTH, "a pattern's groups")
        self._groups[-1].depth = max(self._groups[-1].depth, depth)


def _character_class(reader: PatternReader, offset: int) -> CharSet:
    """The set of a class; the opening bracket has been taken."""
    plain = _PLAIN_CLASS.match(reader.text, reader.offset)
    members = None if plain is None else _plain_class(plain[0])
    if plain is None or members is None:
        return _read_class(reader, offset)
    reader.offset = plain.end()
    return members


@lru_cache(maxsize=1024)
def _plain_class(text: str) -> CharSet | None:
    """The set of a class without escapes; None where it is malformed, which its reader tells."""
    try:
        return _read_class(PatternReader(text, ""), 0)
    except InvalidGrammarError:
        return None


def _read_class(reader: PatternReader, offset: int) -> CharSet:
    is_negated = reader.take_if("^")
    sets: list[CharSet] = []
    while not reader.take_if("]"):
        start = reader.offset
        reader.count_parts(1)
        first = _class_atom(reader, offset)
        if reader.take_if("-"):
            if reader.take_if("]"):
                sets += (first, CharSet.of("-"))
                break
            last = _class_atom(reader, offset)
            sets += _class_range(reader, start, first, last)
        else:
            sets.append(first)
    members = CharSet.from_ranges(pair for part in dict.fromkeys(sets) for pair in part.ranges)
    return members.complement() if is_negated else members


def _class_atom(reader: PatternReader, class_offset: int) -> CharSet:
    if reader.at_end:
        raise reader.invalid("the character class is never closed", class_offset)
    offset = reader.offset
    character = reader.take()
    if character == "\\":
        return parse_escape(reader, offset, in_class=True)
    return CharSet.span(ord(character), ord(character))


def _class_range(
    reader: PatternReader, offset: int, first: CharSet, last: CharSet
) -> list[CharSet]:
    """The sets of `first-last`: a range, or the three of them where an end is a class escape."""
    if len(first) != 1 or len(last) != 1:
        return [first, CharSet.of("-"), last]
    low, high = first.bounds[0], last.bounds[0]
    if low > high:
        raise reader.invalid("the range of the character class is out of order", offset)
    return [CharSet.span(low, high)]


def _bounds(quantifier: re.Match[str]) -> tuple[int, int | None]:
    """The bounds of {n}, {n,} or {n,m}."""
    minimum = _number(quantifier["minimum"])
    if quantifier["comma"] is None:
        return minimum, minimum
    return minimum, _number(quantifier["maximum"]) if quantifier["maximum"] else None


def _number(digits: str) -> int:
    """The value, cut off at ten digits: far beyond every limit on states."""
    return int(digits.lstrip("0")[:10] or "0")
