"""Kernels that Python calls, by module, with numba's types of their arguments.

So that they can be compiled before anything is there to call them with; the modules that take
longest come first. A test compares the types with those of real calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKENS: Final = "Tuple((int32[:,::1], int32[::1], int32[:,::1]))"
_TABLES: Final = (
    "Tuple((int64[:,::1], int32[::1], uint16[::1], int64[:,::1], int64[:,::1], int64[:,::1], "
    "int32[:,::1], int64[::1]))"
)
_WORK: Final = "Tuple((int64[:,::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1]))"
_CONTENT: Final = (
    "Tuple((int32[::1], int32[::1], int32[::1], boolean[::1], int32[::1], int32[::1], "
    "int32[::1], int32[::1], boolean[:,::1]))"
)
_ENDS: Final = "Tuple((int32[::1], int32[:,::1], int32[:,::1], int32[::1], uint8[::1], int32[::1]))"

KERNELS: Final[Mapping[str, Mapping[str, str]]] = {
    "grammars.masks.runner": {
        "walk": (
            f"({_TOKENS}, int64[::1], int64, int64, uint16[::1], int64, int64, int64, int64, "
            f"boolean, int64, int64, int64, int64[::1], {_TABLES}, uint32[::1], {_WORK})"
        ),
        "ends": (
            f"({_TOKENS}, int64, int64, int64, boolean, boolean, int64[::1], {_TABLES}, "
            f"int32[::1], int64[:,::1], int64[::1], int32[::1], {_WORK})"
        ),
        "step": (
            f"(uint16[::1], int64, int64, int64, boolean, int64[::1], {_TABLES}, int64[::1], "
            f"{_WORK})"
        ),
        "force": (
            f"(int64, int64, int64, boolean, int64[::1], {_TABLES}, uint16[::1], boolean[::1], "
            f"{_WORK})"
        ),
    },
    "grammars.automata.subset": {
        "_determinise": (
            "(int64, int64, int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], "
            "int32[::1], boolean[::1], int64, int64, int32[::1], int32[::1], int64, int64)"
        ),
    },
    "grammars.automata.minimise": {
        "_minimise": "(int32[:,::1], int64, int32[::1])",
    },
    "grammars.automata.json_string": {
        "_spell": (
            "(int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], int32[:,::1], "
            "boolean[::1], int64, int64)"
        ),
    },
    "grammars.automata.length_product": {
        "_layers": (
            "(int32[:,::1], boolean[::1], int64, int32[::1], int32[::1], int64, int64, boolean, "
            "int64)"
        ),
    },
    "grammars.automata.string_layers": {
        "_unfold": (
            "(int32[::1], int32[::1], int32[::1], int64, int64, int32[::1], int64, int64, int64)"
        ),
    },
    "grammars.automata.json_spelling": {
        "_spelling_tree": "(int32[::1], int32[::1], int64, int64, int32[::1], int32[:,::1])",
    },
    "grammars.automata.lengths": {
        "measure": "(int32[:,::1], boolean[::1])",
    },
    "grammars.automata.owed": {
        "_owed": "(int32[:,::1], boolean[::1], boolean[::1], boolean[::1])",
    },
    "grammars.automata.product": {
        "_product": "(int64, int32[:,::1], int64, int32[:,::1], int64, int32[:,::1], int64)",
    },
    "grammars.masks.trie": {
        "_preorder": "(uint16[::1], int32[::1], int32[::1])",
        "_extends": "(int32[:,::1], uint16[::1], boolean[::1])",
    },
    "grammars.masks.rows": {
        "_digest": "(uint32[::1], uint32[::1])",
    },
    "grammars.masks.token_sorting": {
        "sort_tokens": (
            "(int32[:,::1], int32[::1], int64, int64[::1], int32[::1], int32[::1], int32[::1], "
            "uint16[::1], int32[:,::1], int32[::1], boolean[::1], int32[::1], int64, int64, "
            "int32[::1], int64)"
        ),
        "sort_strings": "(uint16[::1], int32[::1], int32[::1])",
    },
    "grammars.masks.safe_runs": {
        "_usual_groups": (
            "(int32[:,::1], uint16[::1], int32[::1], boolean[::1], int32[::1], int64, "
            "uint8[::1], int32[:,::1])"
        ),
        "_runs": (
            "(int32[:,::1], uint16[::1], int32[::1], boolean[::1], int32[::1], int64, "
            "uint8[::1], int32[:,::1])"
        ),
    },
    "grammars.masks.slice_sources": {
        "_reach": "(int32[:,::1], uint16[::1], int32[::1], boolean[::1], int64, int64)",
        "_find_usual": "(int32[:,::1], uint16[::1], boolean[::1], int64, int64)",
    },
    "grammars.masks.subtrees": {
        "_summarise": "(int32[:,::1], uint8[::1], int32[:,::1])",
    },
    "grammars.masks.slices": {
        "_set_bits": "(uint32[::1], int32[::1])",
    },
    "grammars.automata.trie": {
        "_trie": "(int32[::1], int32[::1], int32[::1])",
        "_minimal_states": "(int32[::1], int32[::1], int32[::1], boolean[::1])",
    },
    "grammars.automata.content_bytes": {
        "_after_bytes": (
            "(uint8[::1], int64, int64, int32[::1], int32[::1], int32[::1], boolean[::1], "
            "int32[::1], int32[::1], int32[::1], int32[::1], boolean[:,::1])"
        ),
        "_spelled_below": "(int32[::1], int32[::1], int32[::1], int64)",
    },
    "grammars.automata.content_ends": {
        "_find_ends": f"({_CONTENT},)",
        "ends_beside": f"(int32[:,::1], {_CONTENT}, {_ENDS}, int32[:,::1], {_CONTENT})",
    },
    "grammars.masks.label_ways": {
        "_ways_to": "(int32[:,::1], uint16[::1], int32[::1], int64)",
    },
    "grammars.masks.string_costs": {
        "tokens_of_way": (
            "(int64, uint8[::1], int32[::1], int32[::1], int32[:,::1], int32[:,::1])"
        ),
        "tokens_to_end": (
            f"(uint8[::1], int32[:,::1], {_CONTENT}, {_ENDS}, int32[::1], int32[:,::1], "
            "int32[:,::1])"
        ),
    },
    "grammars.masks.content_tokens": {
        "sort_by_content": (
            "(int32[:,::1], int32[::1], int64, int64, int64, uint32[::1], int32[:,::1], "
            "int32[::1], int32[::1], int32[::1], boolean[::1], int32[::1], int32[::1], "
            "int32[::1], int32[::1], boolean[:,::1])"
        ),
    },
    "grammars.automata.edges": {
        "_table": "(int32[::1], int32[::1], int32[::1], int32[::1], int64, int64)",
        "_edges": "(int32[:,::1],)",
    },
    "grammars.automata.classes": {
        "merge_columns": "(int32[:,::1], int32[::1])",
    },
    "grammars.automata.joining": {
        "_side_by_side": (
            "(uint16[::1], int32[:,::1], int32[::1], boolean[::1], int64, uint16[::1], "
            "int32[:,::1], int32[::1], boolean[::1], int64)"
        ),
    },
    "grammars.automata.lexer": {
        "dfa_edges": "(uint16[::1], int32[:,::1])",
    },
    "grammars.pushdown.word_trie": {
        "word_trie": (
            "(uint8[::1], int32[::1], int32[::1], boolean[::1], boolean[::1], int64, int64, "
            "boolean, boolean, int64, int32[:,::1], uint16[::1], int64, int64)"
        ),
    },
    "grammars.pushdown.table_rows": {
        "write_dfa": (
            "(int32[:,::1], uint16[::1], int32[::1], boolean[::1], int32[::1], int64[:,::1], "
            "int32[::1], uint16[::1], int64, int64, int64)"
        ),
        "write_state": (
            "(int64[:,::1], int64[:,::1], int64, int64, int64, int64, boolean, int64, int64, "
            "int64, int64, int64, int64, int64, int64, int64, int64)"
        ),
    },
    "grammars.automata.reach": {
        "reachable_labels": "(int32[:,::1], int32[::1])",
        "label_spans": "(int32[:,::1], int32[::1], int64)",
        "first_ways": "(int32[:,::1], uint16[::1], int64)",
    },
}
