"""The engine and the grammars in a process of their own, behind a private socket."""
