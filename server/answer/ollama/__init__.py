"""Answers in the shapes of Ollama's API."""
