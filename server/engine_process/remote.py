"""Grammars and constraints that live in the engine's process; here are only their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from grammars.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


class RemoteGrammar:
    """A compiled grammar in the engine's process, which keeps it as long as this object lives.

    Args:
        grammar_id: its name there.
        generation: which start of the engine's process knows it.
        min_tokens: the fewest tokens of a whole text; None where they were not asked for, or the
            backend cannot close texts.
        memory_bytes: what it took when it was compiled.
        release: called once, from any thread, when nobody needs it any more.
    """

    def __init__(
        self,
        grammar_id: int,
        *,
        generation: int,
        min_tokens: int | None,
        memory_bytes: int,
        release: Callable[[int], None],
    ) -> None:
        self.grammar_id = grammar_id
        self.generation = generation
        self.min_tokens = min_tokens
        self.memory_bytes = memory_bytes
        self._release = release

    def __del__(self) -> None:
        self._release(self.grammar_id)

    def matcher(self) -> RemoteConstraint:
        """A new matcher at the start of the text, to be made in the engine's process."""
        return RemoteConstraint(self)


class RemoteConstraint:
    """Stands in a request for the matcher that the engine's process will make.

    Args:
        grammar: whose.
    """

    def __init__(self, grammar: RemoteGrammar) -> None:
        self.grammar = grammar

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:  # noqa: ARG002 - known
        """The fewest tokens of a whole text.

        Raises:
            BackendError: they are not known.
        """
        if self.grammar.min_tokens is None:
            raise BackendError("this grammar backend cannot close texts in time")
        return self.grammar.min_tokens

    def fill_bitmask(self, row: NDArray[np.int32]) -> NoReturn:
        self._refuse(row)

    def shared_bitmask(self) -> NoReturn:
        self._refuse()

    def fill_closing_bitmask(self, row: NDArray[np.int32], tokens_left: int) -> NoReturn:
        self._refuse(row, tokens_left)

    def accept_token(self, token_id: int) -> NoReturn:
        self._refuse(token_id)

    def rollback(self, num_tokens: int) -> NoReturn:
        self._refuse(num_tokens)

    def forced_tokens(self) -> NoReturn:
        self._refuse()

    @property
    def is_complete(self) -> bool:
        return self._refuse()

    @property
    def is_terminated(self) -> bool:
        return self._refuse()

    def _refuse(self, *_arguments: object) -> NoReturn:
        raise TypeError("this constraint lives in the engine's process")
