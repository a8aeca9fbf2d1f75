"""What the model calls the tools of MCP servers: safe, at most 64 characters, one name a tool, the same every time."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from hashlib import sha256

MAX_LENGTH = 64
_DIGEST_LENGTH = 10
_LABEL_LENGTH = 24
"""What is kept of a label when a name is too long."""


def model_names(tools: Sequence[tuple[str, str]], taken: Collection[str] = ()) -> list[str]:
    """A name for each pair of a server's label and a tool's name, no pair twice.

    It is ``mcp__{label}__{tool}`` where that can be a name and nothing else has it too, names in ``taken`` (the
    caller's own tools) included; else a like one that ends in a digest of the pair.
    """
    plain = [f"mcp__{label}__{tool}" for label, tool in tools]
    names = [name if _is_name(name) else _digested(*tool) for name, tool in zip(plain, tools, strict=True)]
    # The second time for plain names that are just like one with a digest.
    for _ in range(2):
        times = Counter([*names, *taken])
        names = [name if times[name] == 1 else _digested(*tool) for name, tool in zip(names, tools, strict=True)]
    return names


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", text) is not None


def _digested(label: str, tool: str) -> str:
    digest = sha256(f"{label}\n{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    readable = f"mcp__{label[:_LABEL_LENGTH]}__{re.sub('[^a-zA-Z0-9_-]', '_', tool)}"
    return f"{readable[: MAX_LENGTH - _DIGEST_LENGTH - 1]}_{digest}"
