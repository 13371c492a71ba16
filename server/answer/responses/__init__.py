"""Answers of the Responses API: items, events, bodies."""
