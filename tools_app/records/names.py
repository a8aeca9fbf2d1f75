"""The form in which written names and texts are compared."""

import unicodedata


def normalised(text: str) -> str:
    """Without differences of case, width and spacing. At most twice as long as ``text`` for names as they occur."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
