"""Which study of the readings of one indicator, or of all laboratory values, a question asks for."""

from responses_app.llm.analyst.range_studies import laboratory, ranges
from responses_app.llm.analyst.reading_studies import single
from responses_app.llm.analyst.run_studies import gaps, runs
from responses_app.llm.analyst.statistics_studies import statistics
from responses_app.llm.analyst.study import Steps, Topic
from responses_app.llm.analyst.unusual_studies import standing_out


def series(topic: Topic) -> Steps | None:
    """The first of these shapes that a question about the readings of indicators has."""
    if not topic.mentions:
        return laboratory(topic)
    shapes = (statistics, runs, gaps, standing_out, ranges, single)
    return next((steps for shape in shapes if (steps := shape(topic)) is not None), None)
