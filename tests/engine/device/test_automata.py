"""Automata on the device go where the grammar's own tables and matchers go."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.device.automata import (
    FREE,
    ResidentAutomata,
    advance_states_by_kernel,
    advance_states_reference,
)
from grammars.compile import compile_grammar
from grammars.device_tables import DeviceBudget
from grammars.spec import Choice, JsonSchema, Regex
from tests.support.tokenizers import tiny_vocabulary

SPECS = (
    Choice(("ab", "abc", "b")),
    Regex("[ab]{2,5}c"),
    JsonSchema('{"type": "array", "items": {"enum": ["a", 1, null]}, "maxItems": 2}'),
)


@pytest.fixture(scope="module")
def grammars():
    vocabulary = tiny_vocabulary()
    compiled = [compile_grammar(spec, vocabulary) for spec in SPECS]
    tables = [grammar.device_tables(DeviceBudget()) for grammar in compiled]
    assert None not in tables
    return vocabulary, compiled, tables


def resident(width, device, max_bytes=4_000_000):
    return ResidentAutomata(width, max_bytes=max_bytes, device=device)


@pytest.mark.parametrize("advance", [advance_states_reference, advance_states_by_kernel])
def test_every_token_of_every_state_leads_where_the_tables_say(advance, grammars, device):
    vocabulary, _, tables = grammars
    automata = resident(vocabulary.num_words, device)
    bases = automata.bases(tables)
    for base, of_grammar in zip(bases, tables, strict=True):
        for state in range(min(of_grammar.num_states, 40)):
            # The interpreter takes its time: every ninth token will do for the kernel.
            step = 9 if advance is advance_states_by_kernel else 1
            token_ids = np.arange(state % step, vocabulary.padded_size, step)
            states = torch.full((len(token_ids),), base + state, dtype=torch.int32, device=device)
            following, is_rejected = advance(
                automata.tensors, states, torch.from_numpy(token_ids).to(device)
            )
            row = of_grammar.rows[of_grammar.row_of_state[state]]
            is_allowed = (row[token_ids >> 5] >> (token_ids & 31) & 1).astype(bool)
            assert is_rejected.tolist() == (~is_allowed).tolist()
            expected = [
                of_grammar.next_state(state, int(token)) if allowed else state
                for token, allowed in zip(token_ids, is_allowed, strict=True)
            ]
            assert (following - base).tolist() == expected


@pytest.mark.parametrize("advance", [advance_states_reference, advance_states_by_kernel])
def test_a_free_sequence_may_write_anything_and_stays_free(advance, grammars, device):
    vocabulary, _, tables = grammars
    automata = resident(vocabulary.num_words, device)
    automata.bases(tables)
    token_ids = torch.arange(vocabulary.padded_size, device=device)[:50]
    states = torch.full((len(token_ids),), FREE, dtype=torch.int32, device=device)
    following, is_rejected = advance(automata.tensors, states, token_ids)
    assert following.tolist() == [FREE] * len(token_ids)
    assert not is_rejected.any()


def test_automata_are_loaded_once_and_anew_when_memory_is_full(grammars):
    vocabulary, _, tables = grammars
    automata = resident(vocabulary.num_words, torch.device("cpu"))
    assert automata.bases([tables[0]]) == automata.bases([tables[0]])
    small = resident(
        vocabulary.num_words,
        torch.device("cpu"),
        max_bytes=max(8 * t.num_bytes + 8 * 4 * vocabulary.num_words for t in tables),
    )
    for of_grammar in [*tables, *tables]:
        (base,) = small.bases([of_grammar])
        begin = torch.tensor([base], dtype=torch.int32)
        row = small.tensors.mask_rows[small.tensors.row_of_state[begin]][0].numpy()
        assert np.array_equal(row.view(np.uint32), of_grammar.rows[of_grammar.row_of_state[0]])


def test_what_does_not_fit_is_told(grammars):
    vocabulary, _, tables = grammars
    automata = resident(vocabulary.num_words, torch.device("cpu"), max_bytes=100)
    assert automata.bases([tables[0]]) is None
