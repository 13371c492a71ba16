"""Chat: from messages and tools to prompt token ids, where a caller's text never becomes control."""
