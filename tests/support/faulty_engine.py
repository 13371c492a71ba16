"""An engine that allows every text, except where a schema says how it is to go wrong."""

from __future__ import annotations

import os
import time


def make_engine(tokenizer, mode):
    if mode == "absent":
        raise OSError("its library is broken")
    return FaultyEngine()


class FaultyEngine:
    def compile(self, schema):
        fault = schema.get("fault")
        if fault == "refuse":
            raise ValueError("not\n  this one")
        if fault == "die":
            os.abort()
        while fault == "spin":
            pass
        if fault == "sleep":
            time.sleep(3600)
        return FaultyGrammar(fault)


class FaultyGrammar:
    def __init__(self, fault):
        self._fault = fault

    def matcher(self):
        return FaultyMatcher(self._fault)


class FaultyMatcher:
    """Refuses token 0; `fault` "raise" raises at token 1, "endless" never lets a text end."""

    def __init__(self, fault):
        self._fault = fault
        self._has_mask = False

    def compute_mask(self):
        assert not self._has_mask, "a mask was made twice for one token"
        self._has_mask = True

    def commit_token(self, token_id):
        assert self._has_mask, "a token was committed without a mask"
        self._has_mask = False
        if self._fault == "raise" and token_id == 1:
            raise RuntimeError("mask overflow")
        return token_id != 0

    def can_end(self):
        return self._fault != "endless"
