"""The terminals that `%import common.X` names, in our pattern syntax (ECMA-262 with u semantics).

Names and meanings are those of Lark's `common` module; assertions and lazy repetitions are written
as what they come to.
"""

from __future__ import annotations

from typing import Final

_INT = "[0-9]+"
_DECIMAL = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)"
_EXPONENT = "[eE][+\\-]?[0-9]+"
_FLOAT = f"(?:{_INT}{_EXPONENT}|{_DECIMAL}(?:{_EXPONENT})?)"
_NUMBER = f"(?:{_FLOAT}|{_INT})"

COMMON_TERMINALS: Final = {
    "DIGIT": "[0-9]",
    "HEXDIGIT": "[0-9A-Fa-f]",
    "INT": _INT,
    "SIGNED_INT": f"[+\\-]?{_INT}",
    "DECIMAL": _DECIMAL,
    "_EXP": _EXPONENT,
    "FLOAT": _FLOAT,
    "SIGNED_FLOAT": f"[+\\-]?{_FLOAT}",
    "NUMBER": _NUMBER,
    "SIGNED_NUMBER": f"[+\\-]?{_NUMBER}",
    "ESCAPED_STRING": r'"(?:[^"\\\n]|\\[^\n])*"',
    "LCASE_LETTER": "[a-z]",
    "UCASE_LETTER": "[A-Z]",
    "LETTER": "[A-Za-z]",
    "WORD": "[A-Za-z]+",
    "CNAME": "[A-Za-z_][A-Za-z0-9_]*",
    "WS_INLINE": r"[ \t]+",
    "WS": r"[ \t\f\r\n]+",
    "CR": r"\r",
    "LF": r"\n",
    "NEWLINE": r"(?:\r?\n)+",
    "SH_COMMENT": r"#[^\n]*",
    "CPP_COMMENT": r"//[^\n]*",
    "C_COMMENT": r"/\*(?:[^*]|\*+[^*/])*\*+/",
    "SQL_COMMENT": r"--[^\n]*",
}
