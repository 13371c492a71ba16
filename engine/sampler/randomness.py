"""Random numbers of a request: a pure function of its seed and the position, without a state.

So a seeded request draws the same numbers alone and in a batch, and preemption, a repeated step or
a rollback need not save and restore any generator.
"""

from __future__ import annotations

import secrets
import struct
from hashlib import blake2b


def fresh_seed() -> int:
    """A seed for a request that has none."""
    return secrets.randbits(64)


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1), 53 random bits, for the token at `position` of the output."""
    key = struct.pack("<QQ", seed & (2**64 - 1), position)
    (bits,) = struct.unpack("<Q", blake2b(key, digest_size=8).digest())
    return float((bits >> 11) * 2.0**-53)
