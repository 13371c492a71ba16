"""Models on disk: built-in, hub, folder or GGUF, each resolved to an ordinary model folder."""
