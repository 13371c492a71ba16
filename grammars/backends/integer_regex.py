"""The regex of an interval of integers, written plainly: no leading zeros, no -0."""

from __future__ import annotations

from grammars.errors import UnsatisfiableError


def integer_regex(minimum: int | None, maximum: int | None) -> str:
    """The integers from `minimum` to `maximum`, both included; None is no bound.

    Raises:
        UnsatisfiableError: there are none.
    """
    if minimum is not None and maximum is not None and minimum > maximum:
        raise UnsatisfiableError(f"no integer is at least {minimum} and at most {maximum}")
    options = []
    if minimum is None or minimum < 0:  # the negative ones, by their absolute values
        least = 1 if maximum is None or maximum >= 0 else -maximum
        options.append(r"\-" + _from_to(least, None if minimum is None else -minimum))
    if maximum is None or maximum >= 0:
        options.append(_from_to(max(minimum or 0, 0), maximum))
    return "(?:" + "|".join(options) + ")"


def _from_to(low: int, high: int | None) -> str:
    """The integers from `low` >= 0 to `high`, one option for each number of digits."""
    options = []
    while high is None or low <= high:
        digits = str(low)
        top = 10 ** len(digits) - 1
        if high is None and low == 0:
            options.append("0|[1-9][0-9]*")
            break
        if high is None and low == 10 ** (len(digits) - 1):
            options.append(f"[1-9][0-9]{{{len(digits) - 1},}}")
            break
        options.append(_same_length(digits, str(top if high is None else min(top, high))))
        low = top + 1
    return "(?:" + "|".join(options) + ")"


def _same_length(low: str, high: str) -> str:
    """The digit strings from `low` to `high`, which have the same length."""
    num_more = len(low) - 1
    if not low:
        return ""
    if low[0] == high[0]:
        return low[0] + _same_length(low[1:], high[1:])
    first, last = int(low[0]), int(high[0])
    options = []
    if low[1:].strip("0"):
        options.append(low[0] + _same_length(low[1:], "9" * num_more))
        first += 1
    if high[1:].strip("9"):
        options.append(high[0] + _same_length("0" * num_more, high[1:]))
        last -= 1
    if first <= last:
        options.append(f"[{first}-{last}]" + f"[0-9]{{{num_more}}}" * (num_more > 0))
    return "(?:" + "|".join(options) + ")"
