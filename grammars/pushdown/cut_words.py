"""cut_points: where words of a structure must be cut, so that no reading is lost beside them.

The automaton takes the longest match. Where one terminal ends inside a word and what follows it
begins like the rest of the word, that rest becomes an item of its own: both are then followed side
by side. Terminals that go on with the same symbol themselves are beyond this, see
`StructuralStates`.
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, TypeAlias

from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.pushdown.terminals import Word
from grammars.spec import Choice, Embed, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from grammars.automata.lexer import Lexer
    from grammars.spec import Part
    from grammars.vocabulary import Vocabulary

Symbols: TypeAlias = tuple[int, ...]


def symbols_of(word: Word) -> Symbols:
    """The symbols of a word, its gap left out."""
    pieces = (piece if isinstance(piece, bytes) else (piece,) for piece in word.pieces)
    return tuple(chain.from_iterable(pieces))


def word_of(symbols: Symbols) -> Word:
    """The word of some symbols, without a gap."""
    runs = groupby(symbols, lambda symbol: symbol < NUM_BYTES)
    pieces = ((bytes(run),) if is_text else tuple(run) for is_text, run in runs)
    return Word(tuple(chain.from_iterable(pieces)))


def cut_points(
    words: Mapping[Symbols, Callable[[], set[int]]],
    others: Lexer | None,
    follows: Callable[[int], set[int]],
) -> dict[Symbols, int]:
    """The words to cut, and after how many symbols.

    Args:
        words: what may come next as a word, each with the symbols that may follow it.
        others: the lexer of what else may come next; None where there is nothing.
        follows: the symbols that may follow an item of `others`.
    """
    cuts: dict[Symbols, int] = {}
    prefixes: list[Symbols] = []
    for word in sorted(words):
        while prefixes and word[: len(prefixes[-1])] != prefixes[-1]:
            prefixes.pop()
        ends = {len(prefix): words[prefix] for prefix in prefixes}
        prefixes.append(word)
        row = dict(_states(word, others))
        if not ends and not any(label for label, _ in row.values()):
            continue
        for size in sorted({*ends, *(s for s in row if s < len(word))}):
            label, goes_on = row.get(size, (NO_LABEL, False))
            following = ends[size]() if size in ends else set()
            if label != NO_LABEL and others is not None:
                following = following.union(*map(follows, others.items[label - 1]))
            if not goes_on and word[size] in following:
                cuts[word] = size
                break
    return cuts


def _states(word: Symbols, lexer: Lexer | None) -> Iterator[tuple[int, tuple[int, bool]]]:
    """What a lexer says after each number of symbols: its label, whether it reads the next one."""
    if lexer is None:
        return
    dfa = lexer.dfa
    state = dfa.step(dfa.start, word[0])
    for size in range(1, len(word)):
        if state == DEAD:
            return
        following = dfa.step(state, word[size])
        yield size, (int(dfa.label[state]), following != DEAD)
        state = following


def rest_of(part: Part, word: Symbols, size: int, vocabulary: Vocabulary) -> Literal | Embed:
    """The part that reads what is left of a word after so many symbols."""
    match part:
        case Literal(text):
            begin = b"".join(
                bytes((symbol,))
                if symbol < NUM_BYTES
                else vocabulary.controls[symbol - NUM_BYTES].text.encode()
                for symbol in word[:size]
            )
            return Literal(text.encode()[len(begin) :].decode())
        case Embed(Choice()):
            return Embed(Choice((bytes(word[size:]).decode(),)))
        case _:
            raise AssertionError(f"not made of words: {part}")
