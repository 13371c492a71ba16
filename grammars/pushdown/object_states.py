"""ObjectStates: the states at the places of objects in which nothing is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.pushdown.made_states import InObject
from grammars.pushdown.object_frames import find_object_frame

if TYPE_CHECKING:
    from grammars.pushdown.layouts import JsonContext, Layout
    from grammars.pushdown.made_states import MadeState
    from grammars.pushdown.member_lexers import MemberLexers
    from grammars.pushdown.object_frames import ObjectFrame
    from grammars.pushdown.tables import AutomatonTables
    from grammars.pushdown.template_states import TemplateStates
    from grammars.schema.plans import ObjectPlace


class ObjectStates:
    """Makes the state of each place of a frame once.

    Args:
        tables: where states are written.
        lexers: of members.
        templates: of a closing bracket.
        made: told what each new state is.
        max_states: structural states at most.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        lexers: MemberLexers,
        templates: TemplateStates,
        made: dict[int, MadeState],
        max_states: int,
    ) -> None:
        self._tables = tables
        self._lexers = lexers
        self._templates = templates
        self._made = made
        self._max_states = max_states
        self._frames: dict[Layout[ObjectPlace], ObjectFrame | None] = {}
        self._first_places: dict[tuple[int, ObjectFrame], int] = {}  # whose actions others share
        self._states: dict[tuple[int, ObjectFrame, int, bool], int] = {}

    def frame(self, context: JsonContext, layout: Layout[ObjectPlace]) -> ObjectFrame | None:
        """The frame of a layout, see `find_object_frame`."""
        if layout not in self._frames:
            self._frames[layout] = find_object_frame(context, layout, self._lexers)
        return self._frames[layout]

    def state(self, tags: int, frame: ObjectFrame, place: int, *, is_first: bool) -> int:
        """The state at a place of a frame.

        Args:
            tags: of its item.
            frame: of the object.
            place: by the number that the frame has for it.
            is_first: nothing has been written yet, so no comma comes first.

        Raises:
            LimitExceededError: a budget is used up.
        """
        key = (tags, frame, place, is_first)
        state = self._states.get(key)
        if state is None:
            state = self._new(tags, frame, place, is_first=is_first)
            self._states[key] = state
            self._made[state] = InObject(tags, frame, place, is_first)
        return state

    def _new(self, tags: int, frame: ObjectFrame, place: int, *, is_first: bool) -> int:
        window, keys = frame.window(place), frame.keys
        if window == keys.bracket:  # the end alone has a lexer of its own, the same for all
            template = self._templates.find("}", frame.config(place, is_first=is_first))
            assert template is not None, "a bracket is a bracket"
            return self._templates.add(template, pop_labels=template.end_labels, pop_outcome=tags)
        self._tables.check_num_states(self._max_states)
        shared = keys.shared
        dfa = shared.lexer.dfa
        state = self._tables.add_state(
            lexer_start=self._tables.lexers.add_dfa(dfa)
            + (shared.first if is_first else dfa.start),
            num_labels=len(keys.members),
            is_final=False,
            full_outcome=1,
            window=window,
            shares_actions_of=self._first_places.get((tags, frame)),
            pop_labels=keys.bracket,
            pop_outcome=tags,
        )
        if frame.shares_actions:
            self._first_places.setdefault((tags, frame), state)
        return state
