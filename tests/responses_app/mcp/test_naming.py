"""Names of MCP tools: what a provider takes, never two alike, the same every time."""

import re

from hypothesis import given
from hypothesis import strategies as st

from responses_app.mcp.naming import model_names

LABELS = st.text("ab_", min_size=1, max_size=5) | st.just("l" * 64)
TOOLS = st.text("ab_", min_size=1, max_size=5) | st.text(min_size=1, max_size=200)


@given(st.lists(st.tuples(LABELS, TOOLS), unique=True, max_size=30), st.sets(st.text("ab_mcp", max_size=12)))
def test_names_are_names_and_unique(tools: list[tuple[str, str]], taken: set[str]) -> None:
    names = model_names(tools, taken)
    assert len(set(names)) == len(tools)
    assert not taken & set(names)
    assert all(re.fullmatch(r"mcp__[a-zA-Z0-9_-]{1,59}", name) for name in names)
    assert model_names(tools, taken) == names


def test_labels_and_tools_that_join_alike_are_told_apart() -> None:
    one, two, three = model_names([("a", "b__c"), ("a__b", "c"), ("a", "d")])
    assert one != two
    assert three == "mcp__a__d"


def test_no_tool_can_be_named_like_another_with_its_digest() -> None:
    """A server whose tool is named as another's tool would be called must not get that one's calls."""
    (victim,) = model_names([("a__b", "odd name")])
    evil = ("a", victim.removeprefix("mcp__a__"))
    assert model_names([("a__b", "odd name"), evil])[0] == victim
    assert len(set(model_names([("a__b", "odd name"), evil]))) == 2
