"""CheckReport: the verdict on a spec, why, what it costs, and what might be better."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from grammars.compile import compile_grammar
from grammars.errors import GrammarError
from grammars.spec import JsonSchema
from server.commands.check_examples import find_wrong_examples
from server.commands.check_hints import find_hints
from server.commands.check_keywords import list_keywords
from server.commands.check_refusals import Refusal, RefusalKind, Refusals, find_refusals

if TYPE_CHECKING:
    from grammars.spec import TextSpec
    from grammars.vocabulary import Vocabulary
    from server.commands.check_hints import Hint
    from server.commands.check_keywords import KeywordPlace


class CheckVerdict(Enum):
    """What becomes of a spec; the value is part of the JSON report."""

    EXACT = "exact"
    REFUSED = "refused"
    UNSATISFIABLE = "unsatisfiable"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a compiled spec costs.

    Args:
        compile_ms: from text to compiled grammar, what the tokenizer needs once being there.
        first_mask_ms: making a matcher and its first mask.
        prepare_ms: compile and first mask of the first time, with what is done once for a tokenizer
            and a process.
        states: structural states made until the first mask; more are made while it is used.
        memory_bytes: of the grammar after its first mask.
        first_tokens: tokens that the first mask allows.
    """

    compile_ms: float
    first_mask_ms: float
    prepare_ms: float
    states: int
    memory_bytes: int
    first_tokens: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All there is to say.

    Args:
        verdict: whether it is enforced.
        refusals: why not.
        cost: None where it is not enforced.
        keywords: of a JSON Schema; () for other specs.
        hints: of a JSON Schema; () for other specs.
    """

    verdict: CheckVerdict
    refusals: Refusals
    cost: Cost | None
    keywords: tuple[KeywordPlace, ...]
    hints: tuple[Hint, ...]


def check_spec(spec: TextSpec, vocabulary: Vocabulary) -> CheckReport:
    """Compile a spec and look at it; a JSON Schema must be JSON.

    Raises:
        GrammarError: not the spec but the vocabulary or the backend is at fault.
    """
    try:
        cost = _measure(spec, vocabulary)
    except GrammarError as error:
        return _refused(spec, error, vocabulary)
    keywords: tuple[KeywordPlace, ...] = ()
    hints: tuple[Hint, ...] = ()
    if isinstance(spec, JsonSchema):
        schema = json.loads(spec.text)
        keywords = tuple(list_keywords(schema, ()))
        hints = (*find_hints(schema), *find_wrong_examples(schema, vocabulary))
    return CheckReport(CheckVerdict.EXACT, Refusals((), are_all=True), cost, keywords, hints)


def _refused(spec: TextSpec, error: GrammarError, vocabulary: Vocabulary) -> CheckReport:
    first = Refusal.of(error)
    verdict = (
        CheckVerdict.UNSATISFIABLE
        if first.kind is RefusalKind.UNSATISFIABLE
        else CheckVerdict.REFUSED
    )
    if not isinstance(spec, JsonSchema):
        return CheckReport(verdict, Refusals((first,), are_all=False), None, (), ())
    schema = json.loads(spec.text)
    refusals = find_refusals(schema, error, lambda text: _refusal(text, vocabulary))
    keywords = list_keywords(schema, {(one.pointer, one.keyword) for one in refusals.found})
    return CheckReport(verdict, refusals, None, tuple(keywords), tuple(find_hints(schema)))


def _measure(spec: TextSpec, vocabulary: Vocabulary) -> Cost:
    """Compile twice, since the first time also prepares what all grammars of a vocabulary share."""
    row = np.zeros(vocabulary.num_words, np.int32)
    begun = time.perf_counter()
    compile_grammar(spec, vocabulary).matcher().fill_bitmask(row)
    prepared = time.perf_counter()
    compiled = compile_grammar(spec, vocabulary)
    compiled_at = time.perf_counter()
    compiled.matcher().fill_bitmask(row)
    end = time.perf_counter()
    return Cost(
        compile_ms=1000 * (compiled_at - prepared),
        first_mask_ms=1000 * (end - compiled_at),
        prepare_ms=1000 * (prepared - begun),
        states=compiled.num_states,
        memory_bytes=compiled.memory_bytes,
        first_tokens=int(np.bitwise_count(row.view(np.uint32)).sum()),
    )


def _refusal(text: str, vocabulary: Vocabulary) -> GrammarError | None:
    try:
        compile_grammar(JsonSchema(text), vocabulary)
    except GrammarError as error:
        return error
    return None
