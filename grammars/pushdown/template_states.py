"""TemplateStates: states that are copied from templates, see there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.pushdown.configs import DONE, ValueThen
from grammars.pushdown.items import Item

if TYPE_CHECKING:
    from collections.abc import Hashable

    from grammars.pushdown.configs import Config, ConfigTable
    from grammars.pushdown.layouts import JsonContext
    from grammars.pushdown.state_reader import Reading, StateReader
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.templates import KnownTemplates, Template
    from grammars.schema.value import NodeId


class TemplateStates:
    """Finds templates and copies them into the tables.

    Args:
        tables: where states are written.
        configs: the table of configs.
        reader: what states read.
        templates: found so far.
        max_states: structural states at most.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        configs: ConfigTable,
        reader: StateReader,
        templates: KnownTemplates,
        max_states: int,
    ) -> None:
        self._tables = tables
        self._configs = configs
        self._reader = reader
        self._templates = templates
        self._max_states = max_states
        self._of_values: dict[tuple[JsonContext, NodeId], Template | None] = {}

    def find(self, kinds: Hashable, config: Config) -> Template | None:
        """The template of a config; None where it has none.

        Args:
            kinds: equal for configs that are read alike.
            config: one of them.
        """

        def read() -> Reading:
            return self._reader.read((Item(0, self._configs.intern(config)),))

        return self._templates.find(kinds, read)

    def find_for_value(self, context: JsonContext, node: NodeId) -> Template | None:
        """The template of a value, whatever follows it."""
        key = (context, node)
        if key not in self._of_values:
            self._of_values[key] = self.find(
                kinds_of(context, node), ValueThen(context, node, DONE)
            )
        return self._of_values[key]

    def add(
        self,
        template: Template,
        *,
        goto_labels: int = 0,
        goto_target: int = 0,
        pop_labels: int = 0,
        pop_outcome: int = 0,
    ) -> int:
        """A new state that reads what a template reads; the actions are as in `add_state`.

        Raises:
            LimitExceededError: there are `max_states`, or the tables are full.
        """
        self._tables.check_num_states(self._max_states)
        return self._tables.add_state(
            lexer_start=self._tables.lexers.add_dfa(template.dfa) + template.start,
            num_labels=template.num_labels,
            is_final=False,
            full_outcome=1,
            count_min=template.count_min,
            count_max=template.count_max,
            goto_labels=goto_labels,
            goto_target=goto_target,
            pop_labels=pop_labels,
            pop_outcome=pop_outcome,
        )


def kinds_of(context: JsonContext, node: NodeId) -> Hashable:
    """What is equal for values that are read alike."""
    value = context.graph.value(node)
    return (
        context.gap,
        context.is_canonical,
        value.has_null,
        value.booleans,
        value.numbers,
        value.strings,
        bool(value.objects),
        bool(value.arrays),
    )
