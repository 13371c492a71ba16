"""JsonStates: the states within one object or one array, each made in one go.

Most places of a text are in one object or array, not in several alternatives at once. What such a
state reads depends on little: the kinds of its value, or the place in its object. So its row is
copied from a template, and actions that lead back into the frame are written with it. States made
so are those that `StateReader` describes, which is the plain reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, assert_never

from grammars.automata.dfa import DEAD
from grammars.pushdown.actions import Goto, Push
from grammars.pushdown.configs import (
    DONE,
    ArrayElement,
    Done,
    ObjectMember,
    ValueThen,
    opened_arrays,
    opened_objects,
)
from grammars.pushdown.items import Item, merged_items
from grammars.pushdown.made_states import AtEnd, BeforeValue, InArray, InObject
from grammars.pushdown.object_states import ObjectStates
from grammars.pushdown.template_states import TemplateStates, kinds_of

if TYPE_CHECKING:
    from grammars.pushdown.configs import Config, ConfigTable
    from grammars.pushdown.items import Items
    from grammars.pushdown.layouts import JsonContext, Layout
    from grammars.pushdown.made_states import MadeState
    from grammars.pushdown.member_lexers import MemberLexers
    from grammars.pushdown.state_reader import StateReader
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.templates import KnownTemplates
    from grammars.pushdown.transitions import Transitions
    from grammars.schema.plans import ArrayPlace
    from grammars.schema.value import NodeId


class ItemStates(Protocol):
    """All states of a grammar, however they are made."""

    def state_of_items(self, items: Items) -> int:
        """The state of some items."""
        ...

    def items_of(self, state: int) -> Items:
        """What a state is a set of."""
        ...


class JsonStates:
    """Makes and expands the states of single configs, as far as they can be made from templates.

    The methods are given the states of the whole grammar, which hold this object: held by it in
    turn, they would be left to the collector.

    Args:
        tables: where states and actions are written.
        configs: the table of configs.
        transitions: of its configs.
        reader: what states read.
        lexers: of members.
        templates: found so far.
        max_states: structural states at most.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        configs: ConfigTable,
        transitions: Transitions,
        reader: StateReader,
        lexers: MemberLexers,
        templates: KnownTemplates,
        max_states: int,
    ) -> None:
        self._max_states = max_states
        self._tables = tables
        self._configs = configs
        self._transitions = transitions
        self._made: dict[int, MadeState] = {}
        self._templates = TemplateStates(tables, configs, reader, templates, max_states)
        self._objects = ObjectStates(tables, lexers, self._templates, self._made, max_states)
        self._values: dict[tuple[JsonContext, NodeId, int], int] = {}
        self._elements: dict[tuple[int, Layout[ArrayPlace], ArrayPlace], int | None] = {}
        self._insides: dict[tuple[JsonContext, NodeId, bool], int] = {}

    def __contains__(self, state: int) -> bool:
        return state in self._made

    def find(self, item: Item, states: ItemStates) -> int | None:
        """The state of a single item; None where it is not made from a template."""
        config = self._configs[item.config]
        match config:
            case ObjectMember(context, layout, place, is_first):
                frame = self._objects.frame(context, layout)
                if frame is None:
                    return None
                number = frame.number(place)
                return self._objects.state(item.tags, frame, number, is_first=is_first)
            case ValueThen(context, node, then):
                if not isinstance(self._configs[then], (Done, ObjectMember, ArrayElement)):
                    return None  # parts of a structure: where they meet has to be looked at
                if self._templates.find_for_value(context, node) is None:
                    return None
                return self._before_value(
                    item.tags, context, node, states.state_of_items((Item(item.tags, then),))
                )
            case ArrayElement():
                return self._in_array(item.tags, config, states)
            case Done():
                return self._at_end(item.tags)
            case _:
                return None

    def items(self, state: int, states: ItemStates) -> Items:
        """What a state that was made here is a set of."""
        made = self._made[state]
        match made:
            case BeforeValue(tags, context, node, then):
                [after] = states.items_of(then)
                config: Config = ValueThen(context, node, after.config)
            case InObject(tags, frame, place, is_first):
                config = frame.config(place, is_first=is_first)
            case InArray(tags, element):
                config = element
            case AtEnd(tags):
                return (Item(tags, DONE),)
            case _:
                assert_never(made)
        return (Item(tags, self._configs.intern(config)),)

    def expand(self, state: int, label: int, states: ItemStates) -> None:
        """Write the action of a label that was not known as the state was made.

        Raises:
            GrammarError: as making a state may.
        """
        made = self._made[state]
        match made:
            case BeforeValue(_, context, node, then, template):
                is_object = label == template.object_label
                inner = self._inside(context, node, states, is_object=is_object)
                self._tables.set_action(state, label, Push(then, inner))
            case InObject(tags, frame, place):
                context = frame.keys.context
                node, key = frame.keys.member(label)
                following = frame.after(place, key)
                after = self._objects.state(tags, frame, following, is_first=False)
                target = self._before_value(tags, context, node, after)
                if target is None:
                    then = self._configs.intern(frame.config(following, is_first=False))
                    value = ValueThen(context, node, then)
                    target = states.state_of_items((Item(tags, self._configs.intern(value)),))
                self._tables.set_action(state, label, Goto(target))
            case InArray(tags, config, then, template):
                [value] = self._transitions.element_values(config)
                if label == template.comma_label:
                    item = Item(tags, self._configs.intern(value))
                    self._tables.set_action(state, label, Goto(states.state_of_items((item,))))
                else:
                    is_object = label == template.object_label
                    inner = self._inside(value.context, value.node, states, is_object=is_object)
                    self._tables.set_action(state, label, Push(then, inner))
            case AtEnd():
                raise AssertionError("nothing is read after the end")
            case _:
                assert_never(made)

    def _before_value(self, tags: int, context: JsonContext, node: NodeId, then: int) -> int | None:
        key = (context, node, then)
        state = self._values.get(key)
        if state is None:
            template = self._templates.find_for_value(context, node)
            if template is None:
                return None
            state = self._templates.add(
                template, goto_labels=template.scalar_labels, goto_target=then
            )
            self._values[key] = state
            self._made[state] = BeforeValue(tags, context, node, then, template)
        return state

    def _in_array(self, tags: int, config: ArrayElement, states: ItemStates) -> int | None:
        key = (tags, config.layout, config.place)
        if key not in self._elements:
            self._elements[key] = self._new_in_array(tags, config, states)
        return self._elements[key]

    def _new_in_array(self, tags: int, config: ArrayElement, states: ItemStates) -> int | None:
        layout = config.layout
        if layout.has_distinct_texts or len(layout.steps(config.place)) > 1:
            return None
        values = tuple(self._transitions.element_values(config))
        kinds = kinds_of(values[0].context, values[0].node) if config.is_first and values else None
        read = (config.context.gap, bool(values), layout.may_close(config.place), kinds)
        template = self._templates.find(read, config)
        if template is None:
            return None
        then = DEAD
        if config.is_first and values:
            then = states.state_of_items((Item(tags, values[0].then),))
        state = self._templates.add(
            template,
            goto_labels=template.scalar_labels,
            goto_target=then,
            pop_labels=template.end_labels,
            pop_outcome=tags,
        )
        self._made[state] = InArray(tags, config, then, template)
        return state

    def _at_end(self, tags: int) -> int:
        self._tables.check_num_states(self._max_states)
        state = self._tables.add_state(
            lexer_start=DEAD, num_labels=0, is_final=True, full_outcome=1
        )
        self._made[state] = AtEnd(tags)
        return state

    def _inside(
        self, context: JsonContext, node: NodeId, states: ItemStates, *, is_object: bool
    ) -> int:
        """The state after the opening bracket of a value."""
        key = (context, node, is_object)
        state = self._insides.get(key)
        if state is None:
            value = context.graph.value(node)
            opened = opened_objects(context, value) if is_object else opened_arrays(context, value)
            items = merged_items(Item(1, self._configs.intern(config)) for config in opened)
            state = self._insides[key] = states.state_of_items(items)
        return state
