"""Columns of text that hold money, shares or decimal numbers, and so name neither users nor items."""

import re

import pyarrow as pa

from rectifact.io.columns import plain
from rectifact.io.tables import is_name

SIGNS = r"(?:(?:US|CA|AU|NZ|HK|R|C|A|S)?[$€£¥₹₽₩₺₴₪฿₫₦₱]|Kč|zł|kr\.?|Fr\.?|Ft|Rs\.?|lei)"
CODES = (
    "(?:USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|SEK|NOK|DKK|PLN|CZK|HUF|RON|BRL|MXN|ZAR|AUD|CAD|NZD|SGD|HKD|TRY|KRW|RUB|UAH)"
)
NUMBER = r"(?:\d[\d.,'’ \u00a0\u202f]*(?:[.,]-+)?)"
AMOUNT = re.compile(
    rf"(?i)[(+-]*\s*(?:(?:{SIGNS}|{CODES})\s*[+-]?\s*{NUMBER}|{NUMBER}\s*(?:{SIGNS}|{CODES}|%)|"
    r"\d[\d.,'’ \u00a0\u202f]*[.,]\d+)\s*\)?"
)
"""Numbers with a currency before or behind them, percentages, and numbers with a decimal mark."""

PERCENT = re.compile(r"\s*([+-]?\d+(?:[.,]\d+)?)[ \u00a0\u202f]*%\s*")


def is_amount(column: pa.ChunkedArray) -> bool:
    """Whether most of the different cells of a column of text are such numbers.

    Examples
    --------
    >>> texts = [["€ 6.80", "1.200,00 EUR"], ["6,80", "-7 %"], ["0400", "0401"], ["INV7", "5 GBP notes"]]
    >>> [is_amount(pa.chunked_array([cells])) for cells in texts]
    [True, True, False, False]
    """
    if not is_name(column.type) or pa.types.is_temporal(column.type):
        return False
    cells = [str(text).strip() for text in plain(column).drop_null().unique().to_pylist()]
    return 2 * sum(AMOUNT.fullmatch(text) is not None for text in cells) > len(cells)


def percentages(column: pa.ChunkedArray) -> list[float] | None:
    """The numbers of a column of text that holds nothing but percentages; None for another column.

    Examples
    --------
    >>> percentages(pa.chunked_array([["1.0%", "12 %", "3,5 %"]])), percentages(pa.chunked_array([["1.0%", "12"]]))
    ([1.0, 12.0, 3.5], None)
    """
    if not is_name(column.type) or pa.types.is_temporal(column.type):
        return None
    found = [PERCENT.fullmatch(str(text)) for text in plain(column).to_pylist()]
    return [float(each[1].replace(",", ".")) for each in found if each] if found and all(found) else None
