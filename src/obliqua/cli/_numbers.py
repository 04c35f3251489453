"""Numbers as they are written: with thousands separators, decimal commas, % and currency signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from obliqua._extras import require

if TYPE_CHECKING:
    import polars as pl

PLAIN, TRUTH, THOUSANDS_APART, COMMA = "plain", "truth", "thousands", "comma"
MISSING_WORDS = ("na", "n/a", "nan", "null", "none", "?")  # where numbers are expected
YES_NO = ("no", "yes")
TRUE_WORDS, TRUTH_WORDS = ("true", "yes"), ("true", "false", *YES_NO)

# A sign before or after the digits, and at most one of currency or %.
DRESSED = r"^([-+]?)([$€£¥]?) ?([-+]?)(\d[\d.,]*|[.,]\d+) ?([%$€£¥]?)$"
# Thousands may stand apart: by a space of any kind, or by an apostrophe, as in Switzerland.
APART = "[ \u00a0\u2009\u202f'\u2019]"
SPACED = rf"^[-+$€£¥]*{APART}?[-+]?[1-9]\d{{0,2}}({APART}\d{{3}})+([.,]\d*)?{APART}?[%$€£¥]?$"
SIGNS = "([%$€£¥])"
THOUSANDS = r"^(\d{1,3}(,\d{3})+(\.\d*)?|\d*(\.\d*)?)$"  # 1,234.5
DECIMAL_COMMA = r"^(\d{1,3}(\.\d{3})+(,\d*)?|\d*(,\d*)?)$"  # 1.234,5


class ReadNumbers(NamedTuple):
    """A column of text read as numbers."""

    values: pl.Series  # Float64, NaN where missing
    bad: pl.Series  # bool: which cells are none
    dressed: pl.Series  # bool: which cells have signs and separators that were read
    way: str = PLAIN  # how they are written


def parse(words: pl.Series, decimal_comma: bool = False) -> ReadNumbers:
    """Read words as numbers or truth values.

    `decimal_comma` says what 1,234 is: 1.234 if True. By default it is 1234, unless other cells
    of the column show that it is not.
    """
    polars = require("polars", "cli", "Reading tables")
    values = words.cast(polars.Float64, strict=False)
    bad = values.is_null() & words.is_not_null()
    dressed = polars.Series([False]).new_from_index(0, len(words))
    way = PLAIN
    spaced = words.filter(bad).str.contains(SPACED)
    if spaced.any():
        return _closed_up(words, decimal_comma)
    if bad.any():
        small = words.str.to_lowercase()
        bad &= ~small.is_in(MISSING_WORDS).fill_null(value=False)
        truth = small.is_in(TRUTH_WORDS).fill_null(value=False)
        if bad.any() and not (bad & ~truth).any() and not values.is_not_nan().any():
            values = small.is_in(TRUE_WORDS).cast(polars.Float64)
            values = polars.select(polars.when(truth).then(values)).to_series()
            bad &= ~truth
            way = TRUTH
    if bad.any() and words.filter(bad).str.contains(DRESSED).any():
        known = bad | values.is_not_nan().fill_null(value=False)
        plainly_bad = bad
        for other, how in _undressed(words, known, decimal_comma):
            still = known & other.is_null()
            if still.sum() < bad.sum():
                dressed = plainly_bad & ~still
                values, bad, way = other, still, how
    return ReadNumbers(values.fill_null(float("nan")).alias(words.name), bad, dressed, way)


def _closed_up(words: pl.Series, decimal_comma: bool) -> ReadNumbers:
    """Read words of which some have thousands that stand apart, as 1 234."""
    polars = require("polars", "cli", "Reading tables")
    spaced = words.str.contains(SPACED).fill_null(value=False)
    plain = polars.select(
        polars.when(spaced).then(words.str.replace_all(APART, "")).otherwise(words)
    )
    found = parse(plain.to_series().alias(words.name), decimal_comma)
    return found._replace(dressed=found.dressed | (spaced & ~found.bad))


def _undressed(
    words: pl.Series, known: pl.Series, decimal_comma: bool
) -> list[tuple[pl.Series, str]]:
    """Return what cells are with thousands separators and with decimal commas, null if nothing."""
    polars = require("polars", "cli", "Reading tables")
    digits = words.str.extract(DRESSED, 4)
    signs = words.str.extract(DRESSED, 2) + words.str.extract(DRESSED, 5)
    found = signs.filter(known & (signs != "")).unique()
    one_sign = len(found) <= 1 and ("%" not in found or (signs.filter(known) == "%").all())
    if not one_sign:  # 5 $ and 5 €, or 12 % and 0.12, are not the same kind of number
        return []
    minus = (words.str.extract(DRESSED, 1) + words.str.extract(DRESSED, 3)) == "-"
    signum = 1.0 - 2.0 * minus.cast(polars.Float64)
    thousands = digits.set(~digits.str.contains(THOUSANDS), None).str.replace_all(",", "")
    comma = digits.set(~digits.str.contains(DECIMAL_COMMA), None).str.replace_all(r"\.", "")
    comma = comma.str.replace(",", ".")
    ways = (thousands, THOUSANDS_APART), (comma, COMMA)
    read = [(one.cast(polars.Float64, strict=False) * signum, how) for one, how in ways]
    return read[::-1] if decimal_comma else read


def traits(words: pl.Series, found: ReadNumbers) -> frozenset[str]:
    """Return what must be the same in all parts of a column, so that one number is one."""
    known = words.filter(found.values.is_not_nan())
    if not len(known):
        return frozenset()
    if found.way == TRUTH:
        return frozenset([TRUTH])
    said = {found.way} - {PLAIN}
    if found.way == PLAIN and known.str.contains(".", literal=True).any():
        said.add("points")
    signs: list[str] = []
    if found.dressed.any():
        signs = known.str.extract(SIGNS, 1).drop_nulls().unique().to_list()
    return frozenset([*said, *signs, *([] if "%" in signs else ["no %"])])


def differ(traits: frozenset[str]) -> bool:
    """Say whether parts of a column are written in ways that mean different numbers."""
    one_way = len(traits & {"points", COMMA}) < 2 and len(traits & {THOUSANDS_APART, COMMA}) < 2
    signs = len(traits & {"%", "no %"}) < 2 and len(traits & set("$€£¥")) < 2
    return not (one_way and signs) or (TRUTH in traits and len(traits) > 1)
