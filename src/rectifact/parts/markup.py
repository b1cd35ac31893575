"""Texts without HTML tags, entities and web addresses, whose names would become words."""

import html
import re

TAGS = (
    "a|abbr|address|article|aside|audio|b|big|blockquote|body|br|button|caption|center|"
    "cite|code|col|del|details|div|dl|dd|dt|em|embed|fieldset|figcaption|figure|font|"
    "footer|form|frame|h1|h2|h3|h4|h5|h6|head|header|hr|html|i|iframe|img|input|ins|"
    "label|legend|li|link|main|map|mark|meta|nav|object|ol|option|p|param|picture|pre|q|"
    "s|section|select|small|source|span|strike|strong|style|script|sub|summary|sup|table|"
    "tbody|td|textarea|tfoot|th|thead|time|title|tr|tt|u|ul|var|video|wbr"
)
"""Names of HTML elements: x <y> z has none."""

ENTITY = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
HIDDEN = re.compile(r"(?is)<!--.*?-->|<(script|style)\b[^<>]*>.*?</\1\s*>|<!doctype[^<>]*>")
TAG = re.compile(rf"(?i)</?(?:{TAGS})(?:\s+[\w:-]+\s*=[^<>]*|\s*/)?\s*>")
ADDRESS = re.compile(r"(?i)\b(?:https?|ftp)://[^\s<>\"']+|\bwww\.[^\s<>\"']+")


def without_markup(text: str) -> str:
    """A text without HTML tags and web addresses, and with the letters that entities stand for.

    Examples
    --------
    >>> without_markup("Caf&eacute;<br/>see http://shop.example.com/x&nbsp;now").split()
    ['Café', 'see', 'now']
    >>> without_markup("a <b and c> d, x <y> z; R&D")
    'a <b and c> d, x <y> z; R&D'
    """
    if "<" not in text and "&" not in text and "://" not in text and "www." not in text.lower():
        return text
    text = ENTITY.sub(lambda found: html.unescape(found[0]), text)
    for markup in (HIDDEN, TAG, ADDRESS):
        text = markup.sub(" ", text)
    return text
