"""URIs, IRIs, URI templates and JSON Pointers as patterns that match a whole string."""

from __future__ import annotations

from typing import Final

from grammars.schema.host_patterns import IPV6

# RFC 3987, section 2.2, without the bidirectional formatting characters that section 4.1 forbids.
_PLANES = "".join(rf"\u{{{plane:x}0000}}-\u{{{plane:x}fffd}}" for plane in range(0x1, 0xE))
_UCSCHAR = (
    r"\u00a0-\u200d\u2010-\u2029\u202f-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    rf"{_PLANES}\u{{e1000}}-\u{{efffd}}"
)
_IPRIVATE = r"\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"

_PERCENT_ENCODED = "%[0-9A-Fa-f]{2}"
_SUB_DELIMS = "!$&'()*+,;="


def _references(ucschar: str, iprivate: str, *, is_plain: bool = False) -> tuple[str, str]:
    """An identifier and a relative reference: RFC 3986, appendix A, and RFC 3987, section 2.2.

    Args:
        ucschar: characters beyond ASCII.
        iprivate: more of them, in queries.
        is_plain: leave out what cannot end after each character: `%41`, hosts in brackets, users
            with a colon, and schemes of more than 30 characters.
    """
    unreserved = rf"A-Za-z0-9._~\-{ucschar}"

    def one_of(more: str) -> str:
        plain = f"[{unreserved}{_SUB_DELIMS}{more}]"
        return plain if is_plain else f"(?:{plain}|{_PERCENT_ENCODED})"

    character = one_of(":@")
    literal = rf"{IPV6}|[Vv][0-9A-Fa-f]+\.[A-Za-z0-9._~\-{_SUB_DELIMS}:]+"
    host = f"{one_of('')}*" if is_plain else rf"(?:\[(?:{literal})\]|{one_of('')}*)"
    user = one_of("" if is_plain else ":")
    authority = rf"(?:{user}*@)?{host}(?::\d*)?"
    segments = rf"(?:/{character}*)*"
    rooted = rf"/(?:{character}+{segments})?"
    tail = rf"(?:\?(?:{one_of(f':@/?{iprivate}')})*)?(?:#(?:{one_of(':@/?')})*)?"
    absolute = rf"(?://{authority}{segments}|{rooted}|{character}+{segments}|){tail}"
    relative = rf"(?://{authority}{segments}|{rooted}|{one_of('@')}+{segments}|){tail}"
    scheme = r"[A-Za-z][A-Za-z0-9+.\-]" + ("{0,29}" if is_plain else "*")
    return f"{scheme}:{absolute}", relative


URI, _RELATIVE = _references("", "")
URI_REFERENCE: Final = rf"(?:{URI}|{_RELATIVE})"
IRI, _RELATIVE_IRI = _references(_UCSCHAR, _IPRIVATE)
IRI_REFERENCE: Final = rf"(?:{IRI}|{_RELATIVE_IRI})"

PLAIN_URI, _PLAIN_RELATIVE = _references("", "", is_plain=True)
PLAIN_URI_REFERENCE: Final = rf"(?:{PLAIN_URI}|{_PLAIN_RELATIVE})"
PLAIN_IRI, _PLAIN_RELATIVE_IRI = _references(_UCSCHAR, _IPRIVATE, is_plain=True)
PLAIN_IRI_REFERENCE: Final = rf"(?:{PLAIN_IRI}|{_PLAIN_RELATIVE_IRI})"

# RFC 6570, section 2, with its erratum 6937 (an apostrophe is a literal); narrower: no operator
# that is reserved for extensions.
_TEMPLATE_LITERAL = rf"(?:[!#$&-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]|{_PERCENT_ENCODED})"
_VARIABLE_CHARACTER = rf"(?:[A-Za-z0-9_]|{_PERCENT_ENCODED})"
_VARIABLE = rf"{_VARIABLE_CHARACTER}(?:\.?{_VARIABLE_CHARACTER})*(?::[1-9]\d{{0,3}}|\*)?"
URI_TEMPLATE: Final = rf"(?:{_TEMPLATE_LITERAL}|\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"

# RFC 6901, section 3, and draft-bhutton-relative-json-pointer-00, section 3; narrower: an index is
# not moved (`1+2`).
JSON_POINTER: Final = r"(?:/(?:[^~/]|~[01])*)*"
RELATIVE_JSON_POINTER: Final = rf"(?:0|[1-9]\d*)(?:#|{JSON_POINTER})"
