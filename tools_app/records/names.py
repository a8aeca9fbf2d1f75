"""The form in which written names and texts are compared."""

import unicodedata


def normalised(text: str) -> str:
    """Without differences of case, width and spacing. At most twice as long as ``text`` for names as they occur."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def searchable(text: str) -> str:
    """The normalised form of a text from anywhere, without what no stored name holds: NUL and lone surrogates."""
    return normalised(text.replace("\x00", "").encode(errors="ignore").decode())
