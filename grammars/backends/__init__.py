"""Grammar backends, all behind the two protocols of grammars/protocol.py."""
