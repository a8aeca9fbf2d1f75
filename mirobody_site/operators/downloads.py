"""Long texts on their way to a browser: made on a thread, some at a time, as the browser takes them."""

import io
from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async

CHUNK = 65_536


async def in_chunks(pieces: Iterator[str]) -> AsyncIterator[bytes]:
    """The pieces in UTF-8, about ``CHUNK`` characters at once; a plain iterator would be kept whole by the server.

    A fault of making them breaks the download off, so that half a file does not look like one.
    """
    while chunk := await sync_to_async(_next)(pieces):
        yield chunk


def _next(pieces: Iterator[str]) -> bytes:
    """Empty at the end."""
    text = io.StringIO()
    for piece in pieces:
        text.write(piece)
        if text.tell() >= CHUNK:
            break
    return text.getvalue().encode()
