"""Answers of the older completions API."""
