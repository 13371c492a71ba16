"""Random small grammars: as GBNF or Lark, and as productions for the Earley oracle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from grammars.spec import Cfg

if TYPE_CHECKING:
    from grammars.spec import CfgSyntax
    from tests.support.earley import Productions, Symbol

RULES = ("root", "x", "y", "z")


@dataclass(frozen=True)
class Node:
    """An expression.

    Args:
        kind: literal, class (a character), word (one or more of them), rule, series, options, star,
            plus, maybe or pair.
        text: of a leaf.
        parts: of the others.
    """

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()

    def written(self, syntax: CfgSyntax) -> str:
        """The expression in GBNF or Lark."""
        inside = [part.written(syntax) for part in self.parts]
        is_lark = syntax == "lark"
        match self.kind:
            case "literal":
                return f'"{self.text}"'
            case "class":
                return f"/[{self.text}]/" if is_lark else f"[{self.text}]"
            case "word":
                return f"/[{self.text}]+/" if is_lark else f"[{self.text}]+"
            case "rule":
                return self.text
            case "series":
                return " ".join(inside) or '""'
            case "options":
                return "(" + " | ".join(inside) + ")"
            case _:
                twice = "~2" if is_lark else "{2}"
                suffix = {"star": "*", "plus": "+", "maybe": "?", "pair": twice}[self.kind]
                return f"({inside[0]}){suffix}"


def renamed(grammar: dict[str, Node], letters: dict[str, str]) -> dict[str, Node]:
    """The grammar with other letters; an escape stands for a letter as both syntaxes write it."""

    def rename(node: Node) -> Node:
        if node.kind == "rule":
            return node
        text = "".join(letters[letter] for letter in node.text)
        return Node(node.kind, text, tuple(map(rename, node.parts)))

    return {name: rename(node) for name, node in grammar.items()}


def bracketed(inside: Node, brackets: str) -> Node:
    """An expression between brackets."""
    opening, closing = (Node("literal", bracket) for bracket in brackets)
    return Node("series", parts=(opening, inside, closing))


def _nodes(rules: tuple[str, ...], brackets: tuple[str, ...] = ()) -> st.SearchStrategy[Node]:
    leaves = st.one_of(
        st.sampled_from(["a", "b", "ab", "ba"]).map(lambda text: Node("literal", text)),
        st.sampled_from(["ab", "b", "bc"]).map(lambda text: Node("class", text)),
        st.sampled_from(["a", "ab"]).map(lambda text: Node("word", text)),
        st.sampled_from(rules).map(lambda rule: Node("rule", rule)),
        st.sampled_from(rules).map(lambda rule: Node("rule", rule)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: Node("series", parts=tuple(parts))),
            st.lists(inner, min_size=2, max_size=3).map(
                lambda parts: Node("options", parts=tuple(parts))
            ),
            st.tuples(st.sampled_from(["star", "plus", "maybe", "pair"]), inner).map(
                lambda pair: Node(pair[0], parts=(pair[1],))
            ),
            *[inner.map(partial(bracketed, brackets=pair)) for pair in brackets for _ in range(2)],
        ),
        max_leaves=5,
    )


@st.composite
def grammars(draw: st.DrawFn, brackets: tuple[str, ...] = ()) -> dict[str, Node]:
    """Rules by name, the first is the root; each refers to these only.

    Args:
        draw: of Hypothesis.
        brackets: pairs that may stand around expressions, and nowhere else.
    """
    rules = RULES[: draw(st.integers(1, len(RULES)))]
    return {rule: draw(_nodes(rules, brackets)) for rule in rules}


def written(grammar: dict[str, Node], syntax: CfgSyntax, *, in_json_string: bool = False) -> Cfg:
    """A grammar in GBNF or Lark."""
    if syntax == "lark":
        grammar = {"start": Node("rule", RULES[0]), **grammar}
    define = ": " if syntax == "lark" else " ::= "
    rules = (f"{name}{define}{node.written(syntax)}" for name, node in grammar.items())
    return Cfg(syntax, "\n".join(rules), in_json_string=in_json_string)


def productions(grammar: dict[str, Node]) -> Productions:
    """A grammar for the oracle: every operator becomes a rule of its own."""
    found: Productions = {}

    def character(members: str) -> Symbol:
        return lambda text: text in members

    def symbols(node: Node) -> tuple[Symbol, ...]:
        match node.kind:
            case "literal":
                return tuple(map(character, node.text))
            case "class":
                return (character(node.text),)
            case "rule":
                return (node.text,)
            case "series":
                return tuple(symbol for part in node.parts for symbol in symbols(part))
            case _:
                pass
        name = f"{node.kind} {len(found)}"
        found[name] = []
        if node.kind == "options":
            found[name] = [symbols(part) for part in node.parts]
            return (name,)
        inside = (character(node.text),) if node.kind == "word" else symbols(node.parts[0])
        match node.kind:
            case "star":
                found[name] = [(), (*inside, name)]
            case "plus" | "word":
                found[name] = [inside, (*inside, name)]
            case "maybe":
                found[name] = [(), inside]
            case _:
                assert node.kind == "pair"
                found[name] = [inside + inside]
        return (name,)

    for name, node in grammar.items():
        found.setdefault(name, [])
        found[name] = [symbols(node)]
    return found
