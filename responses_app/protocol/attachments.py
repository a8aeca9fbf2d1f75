"""What images and files are given as: web and data URLs, base64. Checked as text alone; nothing is fetched.

Source: the wire contract, section 2; Open Responses 2026-04-24, "InputImageContentParam", "InputFileContentParam".
"""

import binascii
import re
from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

MAX_IMAGE_URL = 20_971_520
MAX_FILE_DATA = 33_554_432
"""Both in characters."""

_DATA_URL = re.compile(r"data:([a-z0-9.+-]+/[a-z0-9.+-]+)((?:;[a-z0-9-]+=[^;,]*)*);base64,", re.IGNORECASE)


def check_image_url(url: str) -> str:
    """``url`` if an image may be given so; else a ``PydanticCustomError``."""
    if url[:5].lower() == "data:":
        if not _media_type(url).startswith("image/"):
            raise PydanticCustomError("invalid_value", "The data URL of an image must name an image type.")
    elif not _is_web_url(url):
        raise PydanticCustomError("invalid_value", "Expected an http, https or data URL.")
    return url


def check_file_data(data: str) -> str:
    """``data`` if a file may be given so; else a ``PydanticCustomError``."""
    if data[:5].lower() == "data:":
        _media_type(data)
    else:
        _check_base64(data)
    return data


def _media_type(url: str) -> str:
    head = _DATA_URL.match(url)
    if head is None:
        raise PydanticCustomError("invalid_value", "Expected a data URL with a media type and base64.")
    _check_base64(url[head.end() :])
    return head[1].lower()


def _check_base64(text: str) -> None:
    try:
        empty = not binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise PydanticCustomError("invalid_value", "This is not valid base64.") from None
    if empty:
        raise PydanticCustomError("invalid_value", "There is nothing in it.")


def _is_web_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"[\s\x00-\x1f]", url)
