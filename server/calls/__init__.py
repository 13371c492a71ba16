"""Calls: how the models of each family write tool calls, as grammars, as text and as tables."""
