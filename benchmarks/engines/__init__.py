"""Engines as MaskBench drives them: each by its own interface, with its own settings."""
