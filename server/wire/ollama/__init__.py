"""Wire types of Ollama's API, and what they come to as a chat request."""
