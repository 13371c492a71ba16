"""The columns of the tables and the kinds of actions as plain numbers.

For kernels, into which numba freezes them, and for what is read at each step of a text: a member of
an enum is found ten times as slowly.
"""

from __future__ import annotations

from typing import Final

from grammars.pushdown.layout import ActionKind, LexerColumn, StateColumn

TRANSITIONS: Final = int(LexerColumn.TRANSITIONS)
CLASSES: Final = int(LexerColumn.CLASSES)
NUM_SYMBOLS: Final = int(LexerColumn.NUM_SYMBOLS)
LABEL: Final = int(LexerColumn.LABEL)
IS_CLOSED: Final = int(LexerColumn.IS_CLOSED)
IS_BOUNDARY: Final = int(LexerColumn.IS_BOUNDARY)
REACH: Final = int(LexerColumn.REACH)
OWED: Final = int(LexerColumn.OWED)
NUM_LEADING: Final = int(LexerColumn.NUM_LEADING)
IS_DOOR: Final = int(LexerColumn.IS_DOOR)
STEADY: Final = int(LexerColumn.STEADY)

LEXER_START: Final = int(StateColumn.LEXER_START)
ACTIONS: Final = int(StateColumn.ACTIONS)
NUM_LABELS: Final = int(StateColumn.NUM_LABELS)
IS_FINAL: Final = int(StateColumn.IS_FINAL)
COUNT_MIN: Final = int(StateColumn.COUNT_MIN)
COUNT_MAX: Final = int(StateColumn.COUNT_MAX)
FULL_OUTCOME: Final = int(StateColumn.FULL_OUTCOME)
RESUMES: Final = int(StateColumn.RESUMES)
WINDOW: Final = int(StateColumn.WINDOW)
FAR_SET: Final = int(StateColumn.FAR_SET)
FAR_SPANS: Final = int(StateColumn.FAR_SPANS)

UNEXPANDED: Final = int(ActionKind.UNEXPANDED)
GOTO: Final = int(ActionKind.GOTO)
PUSH: Final = int(ActionKind.PUSH)
POP: Final = int(ActionKind.POP)
DEAD_ACTION: Final = int(ActionKind.DEAD)
