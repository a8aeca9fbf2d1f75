"""What it costs to standardize a written name: loading the index, and look-ups of names that it knows and does not.

Run as ``python -m bench.standardization``; prints one line for each kind of name.
"""

import time
from collections.abc import Sequence

from tools_app.standardization import concepts, find_concept, parse_value

ROUNDS = 20
TAKEN_APART = (
    "Glucose, Serum",
    "血糖（空腹）",
    "白细胞计数 (WBC)",
    "C-Reactive Protein, High Sensitivity",
    "Creatinine, 24 hr urine",
)
UNKNOWN = ("my glucose stick", "sleep score", "血脂八项", "saliva cortisol", "Apo A1/Apo B")
VALUES = ("5.4", "<0.5 mg/L", "1.2×10^5", "阴性", "120/80", "3-5/HP")


def main() -> None:
    """Prints the figures."""
    start = time.perf_counter()
    known = tuple(name for concept in concepts() for name in concept.names)
    print(f"load: {(time.perf_counter() - start) * 1000:.0f} ms for {len(concepts())} codes and {len(known)} names")
    for kind, names in (("listed", known), ("taken apart", TAKEN_APART), ("unknown", UNKNOWN)):
        print(f"{kind} names: {_microseconds(names):.1f} us a look-up")
    start = time.perf_counter()
    for _ in range(ROUNDS * 50):
        for value in VALUES:
            parse_value(value)
    print(f"values: {(time.perf_counter() - start) / (ROUNDS * 50 * len(VALUES)) * 1e6:.1f} us each")


def _microseconds(names: Sequence[str]) -> float:
    rounds = max(ROUNDS * 500 // len(names), 3)
    start = time.perf_counter()
    for _ in range(rounds):
        for name in names:
            find_concept(name, "mmol/L")
    return (time.perf_counter() - start) / (rounds * len(names)) * 1e6


if __name__ == "__main__":
    main()
