"""Server: the OpenAI-compatible HTTP API: wire types, chat templates, reply parsing, CLI."""
