"""Chat: from messages and tools to prompt token ids; a caller's text never becomes control."""
