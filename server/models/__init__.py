"""Models on disk: built-in, hub, local folder or GGUF, each resolved to an ordinary Hugging Face folder."""
