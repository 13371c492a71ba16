"""The masks of a grammar against its texts, all listed: dead ends are seen from outside."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from grammars.masks.renewal import RenewedGrammar

_END = 256
"""The end token of `byte_vocabulary`, whose other tokens are bytes."""


def assert_writes_exactly(
    grammar: RenewedGrammar, texts: Collection[bytes], *, num_walks: int
) -> None:
    """Write random texts; at each place the mask allows what some of `texts` goes on with.

    Args:
        grammar: over `byte_vocabulary()`.
        texts: all that it allows.
        num_walks: texts to write, drawn by a fixed seed.
    """
    following: dict[bytes, set[int]] = {}
    for text in texts:
        for end in range(len(text)):
            following.setdefault(text[:end], set()).add(text[end])
    rng = random.Random(0)
    for _ in range(num_walks):
        matcher, written = grammar.matcher(), b""
        while not matcher.is_terminated:
            allowed = set(matcher.allowed_token_ids())
            assert matcher.is_complete == (written in texts), written
            assert allowed - {_END} == following.get(written, set()), written
            token = rng.choice(sorted(allowed))
            assert matcher.accept_token(token)
            written += bytes([token]) if token < _END else b""
