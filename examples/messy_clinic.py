"""A clinic's export as they come: semicolons, Windows encoding, decimal commas, -999, dates, notes.

``python examples/messy_clinic.py export.csv`` writes one; ``… export.csv 1`` another one of the
same kind, next month's. Everybody in it is made up. docs/tutorials/clinic.md reads it.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

COLUMNS = (
    "case", "admitted", "sex", "age", "bmi", "crp", "site", "smoker", "copd", "infection",
    "ward", "outcome", "note",
)  # fmt: skip
REMARKS = ("röntgen requested", "no pain", "seen by Dr. Müller", "family informed", "diät advised",
           "walks alone", "blood drawn twice", "next of kin called", "allergic to penicillin",
           "fell at home", "speaks Polish", "asks for a single room")  # fmt: skip


def patient(draw: random.Random, number: int) -> list[str]:
    """Return one row; who smokes, is old or has an infection differs in what follows."""
    age = min(95, max(18, round(draw.gauss(58, 17))))
    smoker = draw.random() < (0.4 if age < 60 else 0.2)
    copd = draw.random() < (0.45 if smoker and age > 50 else 0.06)
    infection = draw.random() < (0.35 if copd else 0.12)
    crp = draw.lognormvariate(4.2 if infection else 1.2, 0.6)
    bmi = draw.gauss(24.5 + (2.5 if age > 45 else 0.0), 3.5)
    ward = "Intensiv" if infection and crp > 90 else draw.choice(["Innere", "Innere", "Chirurgie"])
    worse = (age > 70) + 2 * (ward == "Intensiv")
    outcome = draw.choices(["home", "rehab", "died"], [8, 1 + 2 * worse, 0.2 + worse])[0]
    site = draw.choices(range(21), [30 - i for i in range(21)])[0]
    day, month = draw.randint(1, 28), draw.randint(1, 12)
    return [
        f"F-{number:06d}",
        f"{day:02d}.{month:02d}.2025 {draw.randint(0, 23):02d}:{draw.randint(0, 59):02d}",
        draw.choices(["f", "m", "k.A."], [50, 48, 2])[0],
        "999" if draw.random() < 0.01 else str(age),
        "NA" if draw.random() < 0.06 else f"{bmi:.1f}".replace(".", ","),
        "-999" if draw.random() < 0.08 else f"{crp:.1f}".replace(".", ","),
        str(site),
        draw.choices(["yes" if smoker else "no", ""], [97, 3])[0],
        "yes" if copd else "no",
        "yes" if infection else "no",
        ward,
        outcome,
        "" if draw.random() < 0.6 else ", ".join(draw.sample(REMARKS, 3)),
    ]


def table(rows: int = 2000, seed: int = 0) -> list[list[str]]:
    """Return the names and the rows."""
    draw = random.Random(seed)  # noqa: S311  # made-up patients are not secrets
    return [list(COLUMNS), *(patient(draw, 4711 + 3 * i) for i in range(rows))]


def write(path: Path, lines: list[list[str]]) -> None:
    """Write lines as a German spreadsheet program does."""
    text = "".join(";".join(cell and quoted(cell) for cell in line) + "\r\n" for line in lines)
    path.write_bytes(text.encode("cp1252"))


def quoted(cell: str) -> str:
    """Return a cell in quotes if it has to be."""
    return f'"{cell}"' if ";" in cell or '"' in cell else cell


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    write(Path(sys.argv[1]), table(seed=seed))
    sys.stdout.write(f"wrote 2000 rows to {sys.argv[1]}\n")
