"""ShapePlans: the plans of the shapes of one schema, each made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.schema.any_order_plan import AnyOrderPlan
from grammars.schema.array_plan import ArrayPlan
from grammars.schema.object_entries import ObjectEntries
from grammars.schema.object_plan import ObjectPlan

if TYPE_CHECKING:
    from grammars.limits import CompileLimits
    from grammars.schema.key_languages import KeyLanguages
    from grammars.schema.node_table import NodeTable
    from grammars.schema.value import ArrayShape, ObjectShape


class ShapePlans:
    """Makes and keeps plans.

    Args:
        nodes: the members of shapes.
        languages: combines languages of keys.
        limits: compile budgets.
    """

    def __init__(self, nodes: NodeTable, languages: KeyLanguages, limits: CompileLimits) -> None:
        self._nodes = nodes
        self._languages = languages
        self._limits = limits
        self._object_entries: dict[ObjectShape, ObjectEntries] = {}
        self._object_plans: dict[ObjectShape, ObjectPlan] = {}
        self._array_plans: dict[ArrayShape, ArrayPlan] = {}

    def of_object(self, shape: ObjectShape) -> ObjectPlan:
        """The steps of an object shape."""
        known = self._object_plans.get(shape)
        if known is None:
            known = ObjectPlan(shape, self._entries(shape), self._limits.max_places)
            self._object_plans[shape] = known
        return known

    def of_object_in_any_order(self, shape: ObjectShape) -> AnyOrderPlan:
        """The steps of an object shape, its keys in any order."""
        return AnyOrderPlan(
            shape, self._entries(shape).with_listed_groups(), self._limits.max_places
        )

    def of_array(self, shape: ArrayShape) -> ArrayPlan:
        """The steps of an array shape."""
        known = self._array_plans.get(shape)
        if known is None:
            known = ArrayPlan(shape, self._nodes.conjoin, self._nodes.negate, self._limits)
            self._array_plans[shape] = known
        return known

    def _entries(self, shape: ObjectShape) -> ObjectEntries:
        known = self._object_entries.get(shape)
        if known is None:
            known = ObjectEntries(
                shape, self._nodes.conjoin, self._nodes.nothing, self._languages, self._limits
            )
            self._object_entries[shape] = known
        return known
