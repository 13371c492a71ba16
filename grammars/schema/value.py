"""Value: a set of JSON values, type by type; the algebra that schemas are evaluated to.

Strings are DFAs over their decoded code points and numbers DFAs over their plain spellings, so that
boolean combinations of scalar keywords are operations on automata. Objects and arrays are unions of
shapes whose members are node ids of a `ValueGraph`: they are evaluated only when somebody looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa

NodeId: TypeAlias = int
"""A node of a `ValueGraph`."""


@dataclass(frozen=True, slots=True)
class StringSet:
    """Strings by content and by length.

    Args:
        content: an automaton over the decoded code points; None is any string.
        min_length: code points at least.
        max_length: code points at most; None is no bound. A content has bounds beside it only where
            counting makes them exact (`lengths.can_be_counted`); else they are multiplied into it.
        widest: strings outside of it are surely not in the set; None where the content is exact.
            A format may be generated in a narrower form than its RFC allows; so what is *not* of
            the format lies outside of the widest form.
    """

    content: CodePointDfa | None = None
    min_length: int = 0
    max_length: int | None = None
    widest: CodePointDfa | None = None

    @property
    def is_any(self) -> bool:
        """Whether every string is in the set."""
        return self.content is None and not self.is_counted

    @property
    def is_counted(self) -> bool:
        """Whether there are bounds of the length beside the content."""
        return self.min_length > 0 or self.max_length is not None


@dataclass(frozen=True, slots=True)
class KeyClass:
    """Keys of a language, and a node of values.

    Args:
        keys: the names.
        node: the values.
    """

    keys: CodePointDfa
    node: NodeId


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """Objects, key by key.

    Args:
        properties: declared keys and the nodes of their values, in generation order.
        required: keys that must be present, in generation order; need not be declared.
        additional: the node of the values of keys that are neither declared nor in a class.
        classes: disjoint classes of undeclared keys with nodes of their own.
        witnesses: for each of these, some key of the class must have a value of the node.
        min_properties: keys at least.
        max_properties: keys at most; None is no bound.

    Attributes:
        declared: the properties by name.
    """

    properties: tuple[tuple[str, NodeId], ...]
    required: tuple[str, ...]
    additional: NodeId
    classes: tuple[KeyClass, ...] = ()
    witnesses: tuple[KeyClass, ...] = ()
    min_properties: int = 0
    max_properties: int | None = None
    declared: dict[str, NodeId] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "declared", dict(self.properties))
        others = (self.additional, self.classes, self.witnesses)
        counts = (self.min_properties, self.max_properties)
        object.__setattr__(self, "_hash", hash((self.properties, self.required, others, counts)))

    def __hash__(self) -> int:
        return self._hash  # made once: shapes of many keys are looked up often

    def member(self, key: str) -> NodeId:
        """The node of the value under `key`."""
        node = self.declared.get(key)
        return self.undeclared(key) if node is None else node

    def undeclared(self, key: str) -> NodeId:
        """The node of the value under `key`, which is not among the properties."""
        for group in self.classes:
            if group.keys.accepts(key):
                return group.node
        return self.additional


@dataclass(frozen=True, slots=True)
class Count:
    """How many elements from an index on are of a node.

    Args:
        first: index of the first element that counts.
        node: the values that count.
        minimum: of them at least.
        maximum: and at most; None is no bound.
    """

    first: int
    node: NodeId
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """Arrays, element by element.

    Args:
        prefix: nodes of the first elements.
        rest: node of all elements after the prefix.
        min_items: elements at least.
        max_items: elements at most; None is no bound.
        counts: bounds on how many elements are of a kind.
        is_unique: no two elements are equal.
        has_repeats: some two elements are equal.
    """

    prefix: tuple[NodeId, ...]
    rest: NodeId
    min_items: int = 0
    max_items: int | None = None
    counts: tuple[Count, ...] = ()
    is_unique: bool = False
    has_repeats: bool = False

    def element(self, index: int) -> NodeId:
        """The node of the element at `index`."""
        return self.prefix[index] if index < len(self.prefix) else self.rest


@dataclass(frozen=True, slots=True)
class Value:
    """A set of JSON values; the union of what each field holds.

    Args:
        has_null: whether null is in it.
        booleans: which of the two are in it.
        numbers: an automaton over all plain spellings of its numbers (`json_number`, "every");
            None is no number.
        strings: None is no string.
        objects: a union of shapes.
        arrays: a union of shapes.
    """

    has_null: bool = False
    booleans: frozenset[bool] = frozenset()
    numbers: Dfa | None = None
    strings: StringSet | None = None
    objects: tuple[ObjectShape, ...] = ()
    arrays: tuple[ArrayShape, ...] = ()

    @property
    def has_scalar(self) -> bool:
        """Whether some value that is neither an object nor an array is in it."""
        return bool(
            self.has_null or self.booleans or self.numbers is not None or self.strings is not None
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it, whatever its members turn out to be."""
        return not (self.has_scalar or self.objects or self.arrays)
