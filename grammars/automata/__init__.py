"""Regular languages: code point sets, ECMA-262 patterns, NFAs and DFAs over code points and bytes."""
