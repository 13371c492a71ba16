"""EvaluationCases: which members of an instance a schema evaluates, case by case."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Protocol, TypeAlias

from grammars.errors import LimitExceededError
from grammars.schema.evaluated import Case, Evaluated
from grammars.schema.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grammars.limits import CompileLimits
    from grammars.schema.document import Json, Place, SchemaDocument
    from grammars.schema.value import NodeId

_Seen: TypeAlias = "frozenset[tuple[object, ...]]"


class Nodes(Protocol):
    """The graph, as far as conditions need it."""

    def place_node(self, place: Place) -> NodeId:
        """The node of the subschema at a place."""
        ...

    def negate(self, node: NodeId) -> NodeId:
        """The node of what is not in another."""
        ...


class EvaluationCases:
    """Finds the cases of one schema.

    Args:
        document: resolves references.
        nodes: makes the conditions.
        has_key: makes the node of objects with a key.
        own: what the keywords of one schema object evaluate, in-place applicators aside; told
            whether `unevaluated*` in it counts.
        limits: budgets of cases, of branches inside each other, and of branches looked at.
    """

    def __init__(
        self,
        document: SchemaDocument,
        nodes: Nodes,
        has_key: Callable[[str], NodeId],
        own: Callable[[Place, bool], Evaluated],
        limits: CompileLimits,
    ) -> None:
        self._document = document
        self._nodes = nodes
        self._has_key = has_key
        self._own = own
        self._limits = limits
        self._num_branches = 0
        self._depth = 0

    def of(self, place: Place) -> list[Case]:
        """Cases of which at least one is met by each valid instance with all that it evaluates.

        Args:
            place: a schema whose own `unevaluated*` is left out.

        Raises:
            LimitExceededError: there are too many cases.
        """
        return self._cases(place, frozenset(), is_outermost=True)

    def _cases(self, place: Place, above: _Seen, *, is_outermost: bool = False) -> list[Case]:
        """The cases of a schema that holds, beside schemas that hold anyway."""
        self._num_branches += 1
        self._check("max_schema_nodes", self._num_branches, self._limits.max_schema_nodes)
        self._depth += 1
        self._check("max_evaluation_depth", self._depth, self._limits.max_evaluation_depth)
        members = Evaluated()
        applied = self._always_applied(place, above)
        inside = above.union(map(_identity, applied))
        cases = [Case()]
        for current in applied:
            members |= self._own(current, not (is_outermost and current is place))
            for choice in self._choices(current, inside):
                cases = self._pruned(a & b for a, b in product(cases, choice))
        self._depth -= 1
        return [case & Case((), members) for case in cases]

    def _always_applied(self, place: Place, above: _Seen) -> list[Place]:
        """The schema, and those that its references and `allOf` apply to the same instance."""
        applied: list[Place] = []
        seen = set(above)
        pending = [place]
        while pending:
            current = pending.pop()
            if _identity(current) not in seen:
                seen.add(_identity(current))
                applied.append(current)
                pending += [
                    *self._document.references(current),
                    *self._branches(current, "allOf"),
                ]
        return applied

    def _choices(self, place: Place, above: _Seen) -> Iterator[list[Case]]:
        """Lists of cases of which one is met, one list for each applicator that may choose."""
        for branch in self._branches(place, "anyOf"):
            yield [Case(), *self._held(branch, above)]
        one_of = [self._held(branch, above) for branch in self._branches(place, "oneOf")]
        if one_of:
            nowhere = [] if all(one_of) else [Case()]
            yield [*nowhere, *(case for cases in one_of for case in cases)]
        yield from self._conditional(place, above)
        for keyword in ("dependentSchemas", "dependencies"):
            for key, demand in _schemas(place, keyword):
                branch = self._below(place, demand, keyword, key)
                cases = self._evaluating(branch, above)
                yield [Case(), *(case.given(self._has_key(key)) for case in cases)]

    def _conditional(self, place: Place, above: _Seen) -> Iterator[list[Case]]:
        condition, then, otherwise = (
            self._member(place, keyword) for keyword in ("if", "then", "else")
        )
        if condition is None:
            return
        node = self._nodes.place_node(condition)
        held = self._cases(condition, above)
        if then is not None:
            held = [a & b for a, b in product(held, self._cases(then, above))]
        failed = [] if otherwise is None else self._evaluating(otherwise, above)
        yield [
            Case(),
            *(case.given(node) for case in held),
            *(case.given(self._nodes.negate(node)) for case in failed),
        ]

    def _held(self, branch: Place, above: _Seen) -> list[Case]:
        """The cases of a branch, given that it holds; none where it evaluates nothing."""
        node = self._nodes.place_node(branch)
        return [case.given(node) for case in self._evaluating(branch, above)]

    def _evaluating(self, branch: Place, above: _Seen) -> list[Case]:
        cases = self._cases(branch, above)
        return cases if any(case.members != Evaluated() for case in cases) else []

    def _pruned(self, cases: Iterable[Case]) -> list[Case]:
        """The cases without those that another makes needless."""
        kept: list[Case] = []
        for case in dict.fromkeys(cases):
            if any(other.makes_needless(case) for other in kept):
                continue
            kept = [other for other in kept if not case.makes_needless(other)]
            kept.append(case)
            self._check("max_evaluation_cases", len(kept), self._limits.max_evaluation_cases)
        return kept

    @staticmethod
    def _check(limit: str, given: int, allowed: int) -> None:
        if given > allowed:
            raise LimitExceededError(limit, allowed, "'unevaluated*' beside many branches")

    def _branches(self, place: Place, keyword: str) -> list[Place]:
        given = place.schema.get(keyword) if isinstance(place.schema, dict) else None
        if not isinstance(given, list):
            return []
        return [self._below(place, item, keyword, str(i)) for i, item in enumerate(given)]

    def _member(self, place: Place, keyword: str) -> Place | None:
        if not isinstance(place.schema, dict) or keyword not in place.schema:
            return None
        return self._below(place, place.schema[keyword], keyword)

    def _below(self, place: Place, schema: Json, *tokens: str) -> Place:
        pointer = "/".join([place.pointer, *map(escape, tokens)])
        return self._document.place(pointer, schema, place.scope)


def _identity(place: Place) -> tuple[object, ...]:
    return place.pointer, place.scope


def _schemas(place: Place, keyword: str) -> Iterator[tuple[str, Json]]:
    """The members of a keyword that are schemas."""
    given = place.schema.get(keyword) if isinstance(place.schema, dict) else None
    if isinstance(given, dict):
        yield from ((key, item) for key, item in given.items() if isinstance(item, (dict, bool)))
