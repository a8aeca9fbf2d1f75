"""The form in which written names and texts are compared."""

import unicodedata


def plain(text: str) -> str:
    """Without differences of width and spacing."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def normalised(text: str) -> str:
    """Without differences of case, width and spacing."""
    return plain(plain(text).casefold())


def searchable(text: str) -> str:
    """The normalised form of a text from anywhere, without what no stored name holds: NUL and lone surrogates."""
    return normalised(text.replace("\x00", "").encode(errors="ignore").decode())
