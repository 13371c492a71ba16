"""Places of objects: what searches and tables of configs find them by."""

from __future__ import annotations

from grammars.schema.plans import ObjectPlace


def test_places_after_one_of_thousands_of_keys_have_hashes_of_their_own():
    """They had 61, and a schema of 30,000 keys in any order was compared for 11 s."""
    hashes = {hash(ObjectPlace(written=1 << number)) for number in range(10_000)}
    assert len(hashes) > 9_900
