"""Loads what takes long to load before the first turn needs it, and a hundred at once. Keeps nothing itself."""

from django.conf import settings

from responses_app.engine.figures import figures_in
from responses_app.engine.tokens import count_tokens
from responses_app.llm.analyst.indicators import find_mentions
from tools_app.standardization import concepts_named, ucum_unit


def warm_up() -> None:
    """The tokenizer, the index of measurements with its reader of Chinese, the readers of units and of figures.

    With the built-in analyst its index of names too.
    """
    count_tokens("tokens")
    concepts_named("血糖值是多少")
    ucum_unit("mmol/(L.h)")
    list(figures_in("5.4 mmol/L"))
    if not settings.LLM_BASE_URL:
        find_mentions("glucose")
