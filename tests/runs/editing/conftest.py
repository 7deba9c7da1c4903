"""Small finished runs to edit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import commands
from commands import rows, write_csv
from commands import run as call
from trees import nested_texts

content = commands.content


def clusters(run: Path) -> dict[int, str]:
    saved = json.loads((run / "clusters.json").read_text("utf-8"))["clusters"]
    return {c["id"]: c["name"] for c in saved}


def members(run: Path) -> dict[int, set[str]]:
    """Tickets of every cluster in the table; -1 holds those without one."""
    out: dict[int, set[str]] = {}
    for row in rows(run):
        out.setdefault(int(row["cluster"]), set()).add(row["ticket"])
    return out


def write_tickets(path: Path, texts: list[str], first: int = 0) -> Path:
    rows = [(f"T-{i}", t, f"2026-0{1 + i % 3}-1{i % 9}") for i, t in enumerate(texts, first)]
    return write_csv(path, ("ticket", "text", "day"), *rows)


def cluster(file: Path, out: Path, *more: object) -> Path:
    options = ["-k", 6, "--method", "kmeans", "--encoder", "tfidf", "-q", "--out", out]
    call("cluster", file, *options, "--id-column", "ticket", *more)
    return out


@pytest.fixture(scope="session")
def tickets(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    texts = [*topics[0], "", topics[0][0], topics[0][4]]  # one row is empty, two repeat a text
    return write_tickets(tmp_path_factory.mktemp("tickets") / "tickets.csv", texts)


@pytest.fixture(scope="session")
def finished(tickets: Path) -> Path:
    return cluster(tickets, tickets.parent / "finished")


@pytest.fixture(scope="session")
def rich(tickets: Path) -> Path:
    """A run with levels, outliers and a table in another form."""
    more = ["--levels", "2,4,6", "--max-outliers", "6", "--set", "write=parquet"]
    return cluster(tickets, tickets.parent / "rich", *more)


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def edit_file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        (tmp_path / "edits.yaml").write_text(text, encoding="utf-8")
        return tmp_path / "edits.yaml"

    return write


@pytest.fixture(scope="session")
def nested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that found its number of clusters: with a merge tree, outliers and an empty row."""
    texts = nested_texts()
    odd = ["zebra quagga okapi", "zebra okapi", "lorem ipsum dolor"]
    file = write_tickets(tmp_path_factory.mktemp("nested") / "in.csv", [*texts, "", texts[3], *odd])
    out = file.parent / "run"
    options = ["--encoder", "tfidf-svd", "-q", "--max-outliers", "4", "--out", out]
    call("cluster", file, *options, "--id-column", "ticket")
    return out
