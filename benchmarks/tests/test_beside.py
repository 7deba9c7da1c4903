"""Ours beside theirs: means, places, differences and marks, by hand; formats and the command."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie_bench.beside import details, overview
from coterie_bench.cli import app
from coterie_bench.tables import Table, measured, ranks, read_folder


def line(label: str, method: str, dataset: str, seed: int, acc: float, nmi: float, **more) -> dict:
    return {
        "label": label, "method": method, "preset": None, "parameters": {"n_clusters": 20},
        "dataset": dataset, "dataset_sha256": "0", "seed": seed,
        "scores": {"acc": acc, "nmi": nmi}, "date": "2026-11-15", "commit": "abc",
        "hardware": {"cores": 2}, **more,
    }  # fmt: skip


ROWS = [
    line("AECL, default", "aecl", "tweet", 0, 0.80, 0.90),
    line("AECL, default", "aecl", "tweet", 1, 0.82, 0.92),
    line("encoder + k-means", "kmeans", "tweet", 0, 0.60, 0.91),
    line("instances only", "sccl", "tweet", 0, 0.70, 0.85),
    line("no stage 1", "aecl", "stackoverflow", 0, 0.60, 0.60),
    line("no stage 1", "aecl", "stackoverflow", 1, 0.60, 0.60),
]


def cells(table: Table, method: str) -> dict[str, str]:
    (found,) = [row for row in table.body if row[1] == method]
    names = [f"{h} {i}" if table.header.count(h) > 1 else h for i, h in enumerate(table.header)]
    return dict(zip(names, found, strict=True))


def test_means_deviations_and_places_by_hand() -> None:
    found = {m.shown: m for m in measured(ROWS) if m.dataset == "tweet"}
    score = found["AECL, default"].score("acc")
    assert score.mean == pytest.approx(81) and score.seeds == 2
    assert score.deviation == pytest.approx(2**0.5)  # of 80 and 82
    assert ranks(list(found.values()), "nmi") == {
        "AECL, default": 1, "encoder + k-means": 1, "instances only": 3
    }  # fmt: skip


def test_differences_and_marks_by_hand() -> None:
    """AECL prints 80.46 / 87.60 on Tweet; ours are 81 ± 1.4 and 91 ± 1.4."""
    (table,) = [t for t in details(ROWS) if t.title == "tweet"]
    ours = cells(table, "AECL, default")
    assert ours["ACC"] == "81.0 ± 1.4" and ours["ACC in papers"] == "80.46 (AECL)"
    assert ours["difference 5"] == "+0.5"  # within a deviation
    assert ours["difference 8"] == "+3.4 ▲"
    single = cells(table, "encoder + k-means")
    assert single["difference 5"] == f"{60 - 51.98:+.1f}"  # one seed has no deviation: no mark
    assert "instances only" not in [row[1] for row in table.body]  # a part, without a number
    (table,) = [t for t in details(ROWS) if t.title == "stackoverflow"]
    part = cells(table, "no stage 1")
    assert part["difference 5"] == f"{60 - 79.59:+.1f} ▼" and part["place"] == ""


def test_the_settings_of_the_newest_line_count() -> None:
    newer = line("AECL, default", "aecl", "tweet", 0, 0.5, 0.5, date="2026-11-16")
    newer["parameters"] = {"n_clusters": 20, "lr": 1e-4}
    (found,) = [m for m in measured([newer, *ROWS]) if m.label == "AECL, default"]
    assert found.rows == (newer,)


def test_the_end_of_training_is_shown_where_the_guard_returned_the_start() -> None:
    """The start has 70 / 80; training made 81 / 91 once, and 40 / 50 where the guard fired."""
    kept = {"guard": {"fired": False}, "trained_scores": {"acc": 0.81, "nmi": 0.91}}
    fired = {"guard": {"fired": True}, "trained_scores": {"acc": 0.4, "nmi": 0.5}}
    rows = [
        line("AECL, default", "aecl", "tweet", 0, 0.81, 0.91, **kept),
        line("AECL, default", "aecl", "tweet", 1, 0.70, 0.80, **fired),
        line("encoder + k-means", "kmeans", "tweet", 0, 0.65, 0.75),
    ]
    (table,) = details(rows)
    ours = cells(table, "AECL, default")
    assert (ours["seeds"], ours["ACC"], ours["NMI"]) == ("2, 1‡", "60.5 ± 29.0", "70.5 ± 29.0")
    assert ours["place"] == "2 / 2" and "returned" in table.caption
    assert overview(rows, "nmi").body[1][1] == "70.5 ± 29.0‡ (2)"
    off = [row | {"parameters": {**row["parameters"], "guard": False}} for row in rows]
    assert cells(details(off)[0], "AECL, default")["seeds"] == "2"  # it judges and returns nothing


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "aecl.jsonl").write_text(text)
    (tmp_path / "papers.jsonl").write_text(text)  # the same runs again
    (tmp_path / "speed.jsonl").write_text(json.dumps(line("short", "aecl", "tweet", 0, 0, 0)))
    (tmp_path / "other.jsonl").write_text('{"n_texts": 5}\n')
    return tmp_path


def test_lines_of_a_folder_count_once(folder: Path) -> None:
    assert len(read_folder(folder)) == len(ROWS)


def test_the_command_prints_the_tables(folder: Path) -> None:
    done = CliRunner().invoke(app, ["tables", "--results", str(folder)])
    assert done.exit_code == 0, done.output
    assert "| 1 / 1 | AECL, default | 2 | 81.0 ± 1.4 |" in done.stdout
