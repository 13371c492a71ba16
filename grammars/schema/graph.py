"""ValueGraph: a schema as a graph of nodes with values, as the lowering sees it.

A node is a subschema, a constant, a value, or a conjunction or negation of nodes (`NodeTable`);
`NodeValues` evaluates them, and `ShapePlans` says what may follow in their objects and arrays. What
is refused is refused by the constructor; what cannot be wrong is evaluated when a text gets there.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from grammars.errors import UnsatisfiableError
from grammars.schema.combine import ValueAlgebra
from grammars.schema.document import SchemaDocument
from grammars.schema.key_groups import num_owed_keys
from grammars.schema.node_table import NodeTable
from grammars.schema.node_values import NodeValues
from grammars.schema.outlines import Outlines
from grammars.schema.productive import live_value, productive_nodes, unsatisfiable_member
from grammars.schema.scalars import scalar_algebra
from grammars.schema.shape_plans import ShapePlans

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa
    from grammars.limits import CompileLimits
    from grammars.schema.any_order_plan import AnyOrderPlan
    from grammars.schema.array_plan import ArrayPlan
    from grammars.schema.object_plan import ObjectPlan
    from grammars.schema.plain import Plain
    from grammars.schema.plans import PlaceT, Plan
    from grammars.schema.value import ArrayShape, NodeId, ObjectShape, StringSet, Value


class ValueGraph:
    """All nodes of one schema document.

    Args:
        text: the schema as JSON text.
        limits: compile budgets.
        missing_bytes: bytes that the vocabulary cannot spell.

    Raises:
        GrammarError: anything reachable from the root is malformed, refused or over budget, or the
            root is unsatisfiable. After construction nothing is refused any more.
    """

    def __init__(
        self, text: str, limits: CompileLimits, missing_bytes: frozenset[int] = frozenset()
    ) -> None:
        document = SchemaDocument(text)
        self._scalars = scalar_algebra(limits.max_states, missing_bytes)
        self._nodes = NodeTable(document, limits, self._scalars.numbers.everything)
        algebra = ValueAlgebra(self._nodes, self._scalars, limits, missing_bytes)
        self._outlines = Outlines(self._nodes, algebra)
        self._plans = ShapePlans(self._nodes, algebra.shapes.languages, limits)
        self._values = NodeValues(self._nodes, algebra, self._outlines, document, self, limits)
        self._live: dict[NodeId, Value] = {}
        self._live_tests: dict[object, Callable[[Any], bool]] = {}  # of plans
        self._canonical: dict[Dfa, Dfa] = {}
        self._plain: dict[Dfa, Dfa] = {}
        self.root: NodeId = self._nodes.schema_node(document.root)
        self._productive = productive_nodes(self.root, self)
        if self.root not in self._productive:
            raise UnsatisfiableError(self._why_unsatisfiable())
        self._search_all()

    def value(self, node: NodeId) -> Value:
        """The value of a reachable node, without shapes that nothing can satisfy."""
        known = self._live.get(node)
        if known is None:
            known = live_value(self.settled(node), self)
            self._live[node] = known
        return known

    def evaluate(self, node: NodeId) -> Value:
        """The value of a node."""
        return self._values.evaluate(node)

    def settled(self, node: NodeId) -> Value:
        """The value of a node, in shapes that can be written element by element."""
        return self._values.settled(node)

    def outline(self, node: NodeId) -> Plain | None:
        """What a plain schema allows, not evaluated; None for every other node."""
        return self._outlines.find(node)

    def describe(self, node: NodeId) -> str:
        """Where a node comes from, for error messages and drawings."""
        return self._nodes.describe(node)

    def canonical_numbers(self, numbers: Dfa) -> Dfa:
        """How the numbers of a value are generated; the same object for the same numbers."""
        known = self._canonical.get(numbers)
        if known is None:
            known = self._scalars.numbers.canonical(numbers)
            self._canonical[numbers] = known
        return known

    def plain_numbers(self, numbers: Dfa) -> Dfa:
        """The one spelling of each number of a set; the same object for the same numbers."""
        known = self._plain.get(numbers)
        if known is None:
            known = self._scalars.numbers.plain(numbers)
            self._plain[numbers] = known
        return known

    def string_content(self, strings: StringSet) -> CodePointDfa:
        """The strings of a set as one automaton."""
        return self._scalars.content(strings)

    @property
    def has_unique_arrays(self) -> bool:
        """Whether a reachable node has arrays whose elements must differ."""
        return any(a.is_unique for value in self._values.all_settled.values() for a in value.arrays)

    @property
    def has_open_objects(self) -> bool:
        """Whether a reachable node has objects with undeclared keys."""
        outlines = (plain.value for plain in self._outlines.found)
        values = chain(self._values.all_settled.values(), outlines)
        shapes = [shape for value in values for shape in value.objects]
        return any(shape.additional != self._nodes.nothing or shape.classes for shape in shapes)

    @property
    def has_owed_keys(self) -> bool:
        """Whether a reachable node has objects that may need several keys not named in it."""
        return any(num_owed_keys(shape) > 1 for shape in self.evaluated_objects)

    @property
    def evaluated_objects(self) -> list[ObjectShape]:
        """The objects of all reachable nodes but those of plain schemas."""
        values = self._values.all_settled.values()
        return [shape for value in values for shape in value.objects]

    @property
    def has_key_classes(self) -> bool:
        """Whether a reachable node has objects with languages of keys (`patternProperties`)."""
        return any(shape.classes for shape in self.evaluated_objects)

    def is_productive(self, node: NodeId) -> bool:
        """Whether some JSON value satisfies the node."""
        return node in self._productive

    def object_plan(self, shape: ObjectShape) -> ObjectPlan:
        """The steps of an object shape."""
        return self._plans.of_object(shape)

    def any_order_plan(self, shape: ObjectShape) -> AnyOrderPlan:
        """The steps of an object shape, its keys in any order."""
        return self._plans.of_object_in_any_order(shape)

    def array_plan(self, shape: ArrayShape) -> ArrayPlan:
        """The steps of an array shape."""
        return self._plans.of_array(shape)

    def is_closable(self, plan: Plan[PlaceT]) -> bool:
        """Whether some object or array is of the shape of a plan."""
        return all(map(self.is_productive, plan.needed())) and self.is_live(plan, plan.start)

    def is_live(self, plan: Plan[PlaceT], place: PlaceT) -> bool:
        """Whether the shape can be closed from a place that its live steps lead to."""
        if not plan.needs_search:
            return True
        known = self._live_tests.get(plan)
        if known is None:
            known = self._live_tests[plan] = plan.live_test(self._productive)
        return known(place)

    def _search_all(self) -> None:
        """Make the searches that a text could ask for, also where a scalar made a value productive.

        Raises:
            LimitExceededError: one of them is too long.
        """
        for value in self._values.all_settled.values():
            for shape in value.objects:
                self.is_closable(self.object_plan(shape))
            for array in value.arrays:
                self.is_closable(self.array_plan(array))

    def _why_unsatisfiable(self) -> str:
        node, path = self.root, "the root"
        blocker: tuple[str, NodeId] | None = None
        seen: set[NodeId] = set()
        while node not in seen:
            seen.add(node)
            blocker = unsatisfiable_member(self.settled(node), self, self._productive)
            if blocker is None:
                break
            step, node = blocker
            path += f" requires {step}, which"
        ending = "allows nothing" if blocker is None else "requires it again, without end"
        return f"no JSON value satisfies the schema: {path} {ending}"
