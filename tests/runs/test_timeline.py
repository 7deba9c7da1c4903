"""Clusters followed over a column of dates."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import commands
import coterie
from coterie.checking import check_integrity
from coterie.editing import edit, undo
from coterie.errors import DataError
from coterie.runs import open_run, timeline
from said import raises

FRUIT = "apple pear plum peach cherry grape lemon melon".split()
CARS = "engine wheel brake clutch gear tyre bumper mirror".split()


def rows() -> list[tuple[str, str]]:
    """Fruit all the time; from March on all cars are electric, and none has a clutch."""
    rng = np.random.default_rng(0)
    out = []
    for month in (1, 2, 3, 4):
        for day in range(1, 21):
            date = f"2026-{month:02}-{day:02}"
            out.append((date, " ".join(rng.choice(FRUIT, 4, replace=False))))
            words = CARS if month < 3 else [w for w in CARS if w != "clutch"]
            car = " ".join(rng.choice(words, 4, replace=False))
            out.append((date, car if month < 3 else f"{car} electric"))
    return out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("timeline")
    with (folder / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("created", "text", "note"), *[(*row, "x") for row in rows()]])
        writer.writerow(("soon", "apple pear plum", "x"))
    coterie.cluster(folder / "in.csv", 2, "kmeans", encoder="tfidf", folder=folder / "run")
    return folder / "run"


def test_words_that_enter_and_leave(run: Path) -> None:
    found = open_run(run).timeline(date_column="created")
    assert (found.unit, found.undated) == ("week", 1)
    steps = found.steps
    cars = {s.cluster for s in steps if "engine" in s.name.lower() or "electric" in s.entered}
    entered = [s for s in steps if "electric" in s.entered]
    assert len(entered) == 1 and entered[0].period.startswith("2026-W")
    assert {s.cluster for s in steps if s.entered} <= cars
    by_cluster = {s.cluster: 0 for s in steps}
    for step in steps:
        by_cluster[step.cluster] += step.texts
    sizes = {c.id: c.size for c in open_run(run).clusters}
    assert sum(by_cluster.values()) == sum(sizes.values()) - 1
    shifts = [s.shift for s in steps if s.cluster == entered[0].cluster and s.shift is not None]
    assert entered[0].shift == max(shifts)
    for period in found.periods:
        shares = [s.share for s in steps if s.period == period and s.texts]
        assert not shares or sum(shares) == pytest.approx(1, abs=1e-3)


def test_table_and_page(run: Path) -> None:
    assert "electric" in commands.run("timeline", run).output
    table = commands.rows(run / "timeline.csv")
    saved = json.loads((run / "timeline.json").read_text("utf-8"))
    assert len(table) == len(saved["steps"]) == 2 * len(saved["periods"])
    assert any("electric" in row["entered"] for row in table)
    assert "Words that enter and leave" in (run / "report.html").read_text("utf-8")
    assert not check_integrity(run).findings
    edit(run, [{"rename": {c.id: f"Renamed {c.id}"}} for c in open_run(run).clusters])
    _, _, page = (run / "report.html").read_text("utf-8").partition("Words that enter and leave")
    assert ">Renamed " in page.partition("</section>")[0]
    undo(run)


def test_bad_columns(run: Path, tmp_path: Path) -> None:
    with raises(DataError, "no date could be"):
        timeline(run, date_column="note")
    with pytest.raises(Exception, match="none"):
        timeline(run, date_column="none")
    plain = tmp_path / "plain"
    coterie.cluster([t for _, t in rows()], 2, "kmeans", encoder="tfidf", folder=plain)
    with raises(DataError, "no column of the"):
        timeline(plain)
    assert not (plain / "timeline.csv").exists()
