"""Items: places in a grammar with what follows them; many stacks as one graph.

A *frame* is what a rule returns to: the set of items that may follow its end. An *item* is a
position with the frame of its rule. Frames are shared and may lead back to themselves (left
recursion), so a set of items stands for any number of stacks, also endlessly many: a
graph-structured stack (M. Tomita, "An efficient augmented-context-free parsing algorithm", 1987).

A frame holds no trace of how it was reached. Two frames with the same items are one, and the set
of a frame is *complete*: where an item's rule may end at once, the items of its frame are in it
too. So the end of a rule is one step, and tail calls put nothing on the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from grammars.cfg.network import Network
    from grammars.cfg.rule_nfa import Symbol

FrameId: TypeAlias = int
PositionId: TypeAlias = int

NO_FRAME: Final[FrameId] = -1
NO_TERMINAL: Final = -1


class Item(NamedTuple):
    """A place in the text; or, as `END`, the end of the whole text."""

    position: PositionId
    frame: FrameId


END: Final = Item(-1, NO_FRAME)

Items: TypeAlias = frozenset[Item]


class InnerPosition(NamedTuple):
    """A position inside a terminal.

    Args:
        terminal: its number; NO_TERMINAL for a mark, see `Positions.mark_id`.
        lexer: the state of its automaton.
        target: the position after it.
    """

    terminal: int
    lexer: int
    target: PositionId


class Positions:
    """The positions of a network, and those inside terminals, which are numbered as they appear."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._num_outer = len(network.edges)
        self._inner: list[InnerPosition] = []
        self._inner_edges: dict[PositionId, dict[Symbol, PositionId]] = {}
        self._ids: dict[InnerPosition, PositionId] = {}

    def inner_id(self, inner: InnerPosition) -> PositionId:
        """The number of a position inside a terminal."""
        known = self._ids.get(inner)
        if known is None:
            known = self._ids[inner] = self._num_outer + len(self._inner)
            self._inner.append(inner)
        return known

    def inner(self, position: PositionId) -> InnerPosition | None:
        """The position inside a terminal; None for a position of the network."""
        return None if position < self._num_outer else self._inner[position - self._num_outer]

    def mark_id(self, position: PositionId) -> PositionId:
        """The number of something that is told from all else, as one position is from another."""
        return self.inner_id(InnerPosition(NO_TERMINAL, position, position))

    def is_final(self, position: PositionId) -> bool:
        """Whether the rule of a position may end there."""
        return position < self._num_outer and self._network.is_final[position]

    def edges(self, position: PositionId) -> dict[Symbol, PositionId]:
        """What a position reads and leads to; inside terminals under a symbol of their own."""
        if position < self._num_outer:
            return self._network.edges[position]
        known = self._inner_edges.get(position)
        if known is None:
            inner = self._inner[position - self._num_outer]
            known = {-1 - self._inner_symbol(inner): inner.target}
            self._inner_edges[position] = known
        return known

    def _inner_symbol(self, inner: InnerPosition) -> int:
        """The same number for all positions inside one terminal at one lexer state."""
        return self.inner_id(InnerPosition(inner.terminal, inner.lexer, -1))


class FrameTable:
    """Frames by their items.

    Args:
        positions: of the items.
    """

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._items: list[Items] = []
        self._ids: dict[Items, FrameId] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, frame: FrameId) -> Items:
        return self._items[frame]

    def intern(self, items: Items) -> FrameId:
        """The frame of items that are complete."""
        known = self._ids.get(items)
        if known is None:
            known = self._ids[items] = len(self._items)
            self._items.append(items)
        return known

    def hole(self, position: PositionId) -> FrameId:
        """The frame that stands for those of all items at a position, which are kept elsewhere.

        It is only ever compared: its item reads what nothing else does.
        """
        return self.intern(frozenset({Item(self._positions.mark_id(position), NO_FRAME)}))

    def new(self) -> FrameId:
        """A frame whose items are set later, since they lead back to it."""
        self._items.append(frozenset())
        return len(self._items) - 1

    def define(self, frame: FrameId, items: Items) -> None:
        """Set the items of a new frame."""
        self._items[frame] = items
        self._ids.setdefault(items, frame)
