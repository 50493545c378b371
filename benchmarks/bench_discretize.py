"""How well cut columns predict, into ``benchmarks/results/discretize.md``.

Five folds of tables with a class and numeric columns. Cut points come from four folds (through a
recipe), the best network of at most 2 parents and its parameters too; the class of the fifth is
predicted from the rest of the row. Shown are the share of right answers and the mean log
probability of the true class in nats. Nothing is random but the folds, which are row number
modulo 5 after one shuffle with a fixed seed.
"""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import numpy as np

import measure
import parentage
from parentage.errors import DataWarning

TABLES = ("diabetes", "glass", "heart-h", "hepatitis", "segment", "vehicle", "vowel")
WAYS = ("median", "quantile:3", "quantile:5", "width:5", "mdl")
FOLDS = 5
RESULTS = Path(__file__).parent / "results" / "discretize.md"


def parts(path: Path) -> tuple[list[str], list[str]]:
    """Return the header of an ARFF file and its rows, shuffled."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and line[0] != "%"]
    at = next(i for i, line in enumerate(lines) if line.lower().startswith("@data")) + 1
    rows = lines[at:]
    random.Random(1).shuffle(rows)
    return lines[:at], rows


def held_out(name: str, way: str) -> tuple[float, float, float]:
    """Return the share of right answers, the mean log probability and states a cut column."""
    header, rows = parts(measure.shared() / f"data/uci/{name}.arff")
    right, told, states = [], [], []
    for fold in range(FOLDS):
        seen = [row for i, row in enumerate(rows) if i % FOLDS != fold]
        new = [row for i, row in enumerate(rows) if i % FOLDS == fold]
        train = read(header, seen, discretize=way, missing="mode")
        test = read(header, new, recipe=train.recipe)
        network = parentage.learn(train, max_parents=2).network
        target = train.names[-1]
        chances = network.fit(train).predict(test, target)
        truth = test.to_codes()[test.index(target)]
        right += (chances.argmax(axis=1) == truth).tolist()
        told += np.log(chances[np.arange(len(truth)), truth]).tolist()
        states += [len(cuts) + 1 for cuts in train.cuts.values()]
    return float(np.mean(right)), float(np.mean(told)), float(np.mean(states))


def read(header: list[str], rows: list[str], **settings: object) -> parentage.Table:
    """Read rows below a header."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        text = "\n".join([*header, *rows, ""]).encode()
        return parentage.read_table(text, **settings)  # type: ignore[arg-type]  # as read_table has them


def main() -> None:
    """Measure all and write the tables."""
    found = {(name, way): held_out(name, way) for name in TABLES for way in WAYS}
    heads = ("Right answers", "Mean log probability of the true class", "States a cut column")
    lines = ["# Ways to cut", "", *(__doc__ or "").strip().splitlines()[2:], ""]
    for k, head in enumerate(heads):
        lines += [f"## {head}", "", f"| table | {' | '.join(f'`{way}`' for way in WAYS)} |"]
        lines.append("| --- |" + " ---: |" * len(WAYS))
        for name in TABLES:
            values = [found[name, way][k] for way in WAYS]
            cells = [f"{100 * v:.1f} %" if k == 0 else f"{v:.2f}" for v in values]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        means = [float(np.mean([found[name, way][k] for name in TABLES])) for way in WAYS]
        cells = [f"{100 * v:.1f} %" if k == 0 else f"{v:.2f}" for v in means]
        lines += [f"| mean | {' | '.join(cells)} |", ""]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
