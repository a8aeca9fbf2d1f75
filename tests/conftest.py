"""Fixtures every test may use. What they do is told where they are made, in tests/support."""

from tests.support.upstream import upstream

__all__ = ["upstream"]
