"""Grammars: specs compiled to automata with per-state token masks (bytes and token ids)."""
