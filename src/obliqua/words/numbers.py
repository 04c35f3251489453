"""Numbers for a person to read."""

from __future__ import annotations

import math

# From here on, and below, numbers are written with an exponent.
LARGE, SMALL = 1e15, 1e-4
# Enough for 16 digits of the smallest such number.
MAX_DECIMALS = 19
# With so many digits any two numbers are told apart.
ALL_DIGITS = 17


def write_number(value: float, digits: int = 4, step: float = math.nan) -> str:
    """Write a number for a person: rounded, without an exponent where that can be read.

    Examples
    --------
    >>> from obliqua.words.numbers import write_number
    >>> write_number(1234567.891), write_number(0.000012345), write_number(2.0)
    ('1234568', '1.234e-05', '2')
    >>> write_number(1234567.891, step=0.01)
    '1234567.89'
    """
    digits = max(int(digits), 1)
    if not math.isfinite(value):
        return str(value)
    if digits >= ALL_DIGITS:
        return repr(float(value) + 0.0).removesuffix(".0")  # the shortest that is this number
    if value != 0 and not SMALL <= abs(value) < LARGE:
        return f"{value:.{digits}g}"
    decimals = 0 if value == 0 else digits - 1 - math.floor(math.log10(abs(value)))
    if step > 0 and math.isfinite(step):
        decimals = max(decimals, math.ceil(-math.log10(step)))
    text = f"{value:.{min(max(decimals, 0), MAX_DECIMALS)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
