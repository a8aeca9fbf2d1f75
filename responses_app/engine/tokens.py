"""Our own token count, for what a provider does not report and for what only we can tell apart."""

from functools import lru_cache

import bpe_openai

# The encoder refuses texts of a million characters or 200,000 tokens; a token cut in two is lost in the sum.
_PIECE_CHARACTERS = 50_000


@lru_cache(maxsize=1)
def _encoding() -> bpe_openai.Encoding:
    return bpe_openai.get_encoding("o200k_base")


def first_tokens(text: str, most: int) -> str:
    """``text``, or of a longer one the beginning, of at most so many tokens and whole characters."""
    if count_tokens(text) <= most:
        return text
    tokens = _encoding().encode_ordinary(text[:_PIECE_CHARACTERS])[:most]
    beginning: bytes = _encoding().decode_bytes(tokens)
    return beginning.decode(errors="ignore")


def count_tokens(text: str) -> int:
    """The number of o200k_base tokens in ``text``."""
    pieces = (text[start : start + _PIECE_CHARACTERS] for start in range(0, len(text), _PIECE_CHARACTERS))
    return sum(len(_encoding().encode_ordinary(piece)) for piece in pieces)
