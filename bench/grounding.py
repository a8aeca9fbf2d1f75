"""What looking up the numbers of an answer costs: milliseconds for answers and tool results of several sizes."""

import time

from responses_app.engine.grounding import Evidence, grounding

SENTENCE = "On 2026-03-05 your fasting glucose was {:.1f} mmol/L, 1.2% above the average of 97 mg/dL over 12 readings. "
ROUNDS = 20


def answer(characters: int) -> str:
    """A text of about that length that states four numbers a sentence."""
    return "".join(SENTENCE.format(4 + number / 10) for number in range(characters // len(SENTENCE)))


def result(readings: int) -> dict[str, object]:
    """What ``query_health_data`` gives for that many readings."""
    rows = [
        {"id": f"rec_{n}", "value": n / 7, "text": f"{n / 7:.2f} mmol/L", "date": "2026-01-01"} for n in range(readings)
    ]
    heading = {"indicator": "Fasting glucose", "loinc_code": "14771-0", "unit": "mmol/L", "count": readings}
    return {"operation": "readings", "results": [heading | {"readings": rows}]}


def main() -> None:
    """Prints one line a size."""
    grounding("5.4 mmol/L", [Evidence("call", result(1))])
    for characters, readings in ((500, 10), (2_000, 100), (2_000, 400), (20_000, 400), (200_000, 4_000)):
        text, evidence = answer(characters), [Evidence("call", result(readings))]
        started = time.perf_counter()
        for _ in range(ROUNDS):
            found = grounding(text, evidence)
        each = (time.perf_counter() - started) / ROUNDS * 1000
        print(f"{characters} characters, {found['numbers']} numbers, {readings} readings: {each:.2f} ms")


if __name__ == "__main__":
    main()
