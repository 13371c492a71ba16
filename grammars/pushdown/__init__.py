"""The deterministic pushdown automaton that a spec is lowered to, expanded lazily."""
