"""The built-in analyst: a model back end that answers questions about health data by rules, without a language model.

Re-exports the back end; nothing lives here.
"""

from responses_app.llm.analyst.analyst import Analyst

__all__ = ["Analyst"]
