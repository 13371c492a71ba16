"""Answers in the shapes of Anthropic's Messages API."""
