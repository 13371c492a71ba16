"""Beginnings: the configs that composite parts of a structure begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.pushdown.configs import GrammarThen, PartThen, ValueThen
from grammars.pushdown.items import Item, merged_items
from grammars.pushdown.parts import is_nullable
from grammars.spec import Cfg, Either, Embed, JsonObject, JsonSchema, Repeat, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.pushdown.configs import ConfigId, ConfigTable
    from grammars.pushdown.contexts import Contexts
    from grammars.pushdown.items import Items
    from grammars.spec import Part


class Beginnings:
    """Finds what configs begin with.

    Args:
        configs: the table of configs.
        contexts: of embedded schemas and grammars.
        max_states: budget of each automaton.
    """

    def __init__(self, configs: ConfigTable, contexts: Contexts, max_states: int) -> None:
        self._configs = configs
        self._contexts = contexts
        self._max_states = max_states

    def atoms(self, items: Iterable[Item]) -> Items:
        """What items begin with: items that have terminals of their own, or are `DONE`.

        Raises:
            GrammarError: an embedded spec is refused.
        """
        return merged_items(
            Item(item.tags, atom) for item in items for atom in self._atoms(item.config)
        )

    def _atoms(self, config: ConfigId) -> Iterator[ConfigId]:
        pending, seen = [config], {config}
        while pending:
            current = pending.pop()
            match self._configs[current]:
                case PartThen(part, then):
                    steps = self._steps(part, then)
                    if steps is None:
                        yield current
                        steps = [then] if is_nullable(part, self._max_states) else []
                case GrammarThen(_, place, then):
                    yield current
                    steps = [then] if place.is_final else []
                case _:
                    yield current
                    continue
            new = [step for step in dict.fromkeys(steps) if step not in seen]
            seen.update(new)
            pending.extend(reversed(new))

    def _steps(self, part: Part, then: ConfigId) -> list[ConfigId] | None:
        """The configs that a composite part stands for; None for an atomic part."""
        sequence = self._configs.sequence
        match part:
            case Sequence(parts):
                return [sequence(parts, then)]
            case Either(options):
                return [sequence((option,), then) for option in options]
            case Repeat(_, _, 0):
                return [then]
            case Repeat(repeated, minimum, maximum):
                rest = Repeat(
                    repeated, max(minimum - 1, 0), None if maximum is None else maximum - 1
                )
                once = sequence((repeated, rest), then)
                return [once] if minimum > 0 else [once, then]
            case Embed(JsonSchema() | JsonObject() as spec):
                context = self._contexts.of_schema(spec)
                return [self._configs.intern(ValueThen(context, context.graph.root, then))]
            case Embed(Cfg() as spec):
                grammar = self._contexts.of_grammar(spec)
                return [self._configs.intern(GrammarThen(grammar, grammar.start, then))]
            case _:
                return None
