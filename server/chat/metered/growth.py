"""Growth: how large the result of an operation may be, known before it is carried out.

Only what can make much of little is here; results as large as what they are made of need no care.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from typing import TYPE_CHECKING, Final

import jinja2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chat.metered.budget import RenderBudget

_MAX_INT_BITS: Final = 4_096
MAX_WIDTH: Final = 999
_TRIES_PER_STEP: Final = 256
_LARGE_WIDTH: Final = re.compile(r"[%)][-+ #.\d]*?(?:\d{4}|\*)|\{[^{}]*(?:\d{4}|\{)")
"""Four digits, a width that is an argument, or one that is a field of its own."""

_SPACES: Final = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + (
    "".join(map(chr, range(0x2000, 0x200B)))
)
"""What `str.split` and `str.splitlines` cut at."""


def spend_product(budget: RenderBudget, left: object, right: object) -> None:
    """`left * right`, of numbers or of a sequence and a number."""
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    for sequence, count in ((left, right), (right, left)):
        if isinstance(sequence, Sized) and isinstance(count, int):
            spend_size(budget, sequence, times=max(0, count))


def check_numbers(*operands: object) -> None:
    """Operands of any operator: division takes the square of their length."""
    for operand in operands:
        if isinstance(operand, int):
            _check_bits(operand.bit_length())


def check_digits(value: object) -> None:
    """A text that is read as a number."""
    if isinstance(value, str):
        _check_bits(len(value))


def check_power(left: object, right: object) -> None:
    """`left ** right`."""
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        _check_bits(left.bit_length() * right)


def spend_size(budget: RenderBudget, value: object, *, times: int = 1) -> None:
    """A new value as large as so many of this one."""
    if isinstance(value, str):
        budget.spend(1, len(value) * times)
    elif isinstance(value, Sized):
        budget.spend_items(len(value) * times)


def spend_format(budget: RenderBudget, text: str, arguments: object) -> None:
    """`text % arguments` or `text.format(*arguments)`."""
    if _LARGE_WIDTH.search(text):
        raise jinja2.TemplateError(f"its format {text[:40]!r} has widths above {MAX_WIDTH}")
    num_fields = text.count("%") + text.count("{")
    budget.spend(1, len(text) + num_fields * (budget.weigh(arguments) + MAX_WIDTH))


def spend_replace(budget: RenderBudget, text: str, old: str, new: str) -> None:
    """`text.replace(old, new)`."""
    budget.spend(1, len(text))
    budget.spend(1, text.count(old) * len(new))


def spend_join(budget: RenderBudget, separator: str, items: Sequence[object]) -> None:
    """`separator.join(items)`, where items are printed first."""
    budget.spend(1, len(separator) * len(items) + budget.weigh(items))


def spend_pieces(budget: RenderBudget, text: str, separator: str | None) -> None:
    """The list that `text` is cut into; None: at white space or at the ends of lines."""
    budget.spend(1, len(text))
    cuts = text.count(separator) if separator else sum(map(text.count, _SPACES))
    budget.spend_items(1 + cuts)


def spend_search(budget: RenderBudget, text: str, sought: str) -> None:
    """A search from the end, or for any of some characters: each may be tried at each place."""
    budget.spend(1 + len(text) * len(sought) // _TRIES_PER_STEP)


def spend_indent(budget: RenderBudget, text: str, width: object) -> None:
    """`width` spaces, or the text that it is, in front of each line."""
    size = len(width) if isinstance(width, str) else width
    if not isinstance(size, int):
        raise TypeError("indent needs a number or a text")
    budget.spend(1, len(text))
    budget.spend(1, (1 + text.count("\n")) * max(0, size))


def _check_bits(num_bits: int) -> None:
    if num_bits > _MAX_INT_BITS:
        raise jinja2.TemplateError(f"its numbers have more than {_MAX_INT_BITS} bits")
