"""Adapters that let other libraries use compiled grammars."""
