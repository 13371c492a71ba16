"""Context-free grammars: GBNF and Lark, read, trimmed and parsed by sets of items over lexers."""
