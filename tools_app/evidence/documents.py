"""HTML and article XML as plain text, whatever their bytes claim to be. No fetching here."""

import codecs
import re

import html_text
from lxml import etree, html

_DECLARED = re.compile(rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?([\w.:-]{1,40})""", re.I)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Text encodings of Python that no page is written in; decoding some of them takes time with the square of the length.
_NO_CHARSETS = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"})
_BLOCKS = ".//*[self::title or self::p or self::tr][not(ancestor::p or ancestor::tr)]"


def decoded(body: bytes, content_type: str) -> str:
    """The text of a body: by its mark, what its header says, what it declares itself; else UTF-8, faults replaced."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, errors="replace")
    stated = _CHARSET.search(content_type)
    declared = _DECLARED.search(body, 0, 4096)
    name = stated[1] if stated else declared[1].decode("ascii") if declared else "utf-8"
    try:
        encoding = codecs.lookup(name).name
        return body.decode("utf-8" if encoding in _NO_CHARSETS else encoding, errors="replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", errors="replace")


def page_text(text: str) -> tuple[str, str]:
    """The title and the visible text of an HTML page, blocks on lines of their own; blank for what holds none."""
    # A document given as text must not name an encoding of its own.
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text).replace("\x00", "")
    if not text.strip():
        return "", ""
    try:
        tree = html.document_fromstring(text, parser=html.HTMLParser(huge_tree=False))
        title = " ".join((tree.findtext(".//title") or "").split())
        for element in list(tree.iter("title")):
            element.drop_tree()
        return title, html_text.extract_text(tree)
    except (etree.LxmlError, ValueError, RecursionError):
        return "", ""


def fragment_text(markup: str) -> str:
    """Text with a few tags in it, such as an abstract, without them."""
    return page_text(markup)[1] if "<" in markup or "&" in markup else markup.strip()


def article_text(xml: bytes) -> str:
    """The body of an article in JATS XML: titles, paragraphs and table rows. Raises ValueError for what is none."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(xml, parser)
    except etree.LxmlError as error:
        raise ValueError("no XML") from error
    body = root.find(".//body")
    if body is None:
        return ""
    parts = (_block(element) for element in body.xpath(_BLOCKS))
    return "\n".join(part for part in parts if part)


def _block(element: etree._Element) -> str:
    """The text of a paragraph or title, or the cells of a table's row."""
    pieces = element.xpath("./td | ./th") if element.tag == "tr" else [element]
    return " | ".join(" ".join("".join(piece.itertext()).split()) for piece in pieces)
