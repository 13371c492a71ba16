"""Regular languages: code point sets, ECMA-262 patterns, automata over code points and bytes."""
