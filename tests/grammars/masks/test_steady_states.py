"""Subtrees of tokens that a lexer reads without leaving its state are set at once: as if walked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grammars.automata.character_groups import ASCII_GROUPS, GROUP_OF_BYTE
from grammars.automata.dfa import DEAD, NO_LABEL, Dfa
from grammars.cfg.steps import CfgSteps
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.cfg_states import CfgStates
from grammars.pushdown.layout import LexerColumn
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Cfg, Embed, JsonSchema, Regex
from tests.support.tokenizers import real_vocabulary

GRAMMARS = Path(__file__).resolve().parents[2] / "data" / "grammars"

CASES = [
    (Cfg("lark", 'start: NAME ("," NAME)*\nNAME: /[a-z]+/\n%ignore " "'), "some,names, if,x"),
    (Cfg("lark", 'start: ("if" | NAME | /[0-9A-F]+/)+\nNAME: /[a-z_]+/\n%ignore /[ \\n]+/'),
     "if iffy i f 12AB"),
    (Cfg("gbnf", 'root ::= [a-z]+ "b" root | [A-Z ]*'), "abcbb AND SO ON"),
    (Cfg("gbnf", 'root ::= [a-e]+ [f-z]* " " root | "."'), "beadfgh deeff ."),
    (Regex("(?:[a-z]{0,7},)*[0-9A-Fa-f]*"), "counted,at,most,09af"),
    (Regex(r"(?:[^\n]*\n)*"), "any é line\nas\n\n日本 it is\n"),
    (JsonSchema('{"type":"array","items":{"type":"string","pattern":"^[a-z]*$","maxLength":9}}'),
     '["of","words","someword"]'),
    (JsonSchema('{"type":"object","propertyNames":{"pattern":"^[a-z_]+$","minLength":3}}'),
     '{"key":"some value","some_key":12}'),
]  # fmt: skip


def _grammar(spec, way):
    limits, tables, vocabulary = CompileLimits(), AutomatonTables(), real_vocabulary("smollm2")
    states: CfgStates | StructuralStates
    if isinstance(spec, Cfg):
        states = CfgStates(CfgSteps(spec, limits, frozenset(), tables.work), tables, limits)
    else:
        states = StructuralStates(Embed(spec), tables, vocabulary, limits)
    return AutomatonGrammar(tables, states, states.root, vocabulary, way=way)


@pytest.mark.parametrize(("spec", "text"), CASES, ids=str)
def test_masks_are_those_of_whole_walks(spec, text):
    token_bytes = real_vocabulary("smollm2").token_bytes
    one_byte = {data: token_id for token_id, data in token_bytes.items() if len(data) == 1}
    at_once, walked = (_grammar(spec, way).matcher() for way in ("slices", "walk"))
    for place, byte in enumerate(text.encode()):
        assert at_once.allowed_token_ids() == walked.allowed_token_ids(), text[:place]
        for matcher in (at_once, walked):
            assert matcher.accept_token(one_byte[bytes([byte])]), text[:place]


def test_a_state_is_steady_under_groups_of_which_every_character_leads_back_to_it():
    symbol_class = np.zeros(256, np.uint16)
    for number, characters in enumerate((b"abcdef", b"gh", b"0123456789", b"-_"), 1):
        symbol_class[list(characters)] = number
    next_state = np.array(  # state 2 goes round under all but "_" and "-"; 3 counts characters
        [[0, 0, 0, 0, 0], [0, 2, 2, 2, 2], [0, 2, 2, 2, 3], [0, 3, 3, 3, 3]], np.int32
    )
    label = np.array([NO_LABEL, NO_LABEL, 1, 2], np.int32)
    dfa = Dfa(symbol_class, next_state, label, 1, np.array([False, False, False, True]))
    tables = AutomatonTables()
    base = tables.lexers.add_dfa(dfa)
    steady = [tables.lexers.row(base + state)[LexerColumn.STEADY] for state in (1, 2, 3)]
    groups = [1 << int(GROUP_OF_BYTE[byte]) for byte in b"a0"]
    assert steady == [0, sum(groups), 0]  # of g-z, only g and h are read
    assert dfa.next_state[DEAD].tolist() == [DEAD] * 5
    assert steady[1] & ~ASCII_GROUPS == 0
