"""``coterie-bench`` as users meet it."""

import json
from pathlib import Path

from typer.testing import CliRunner

from coterie_bench.cli import app


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_datasets(tmp_path: Path) -> None:
    listed = run("datasets", "--data", str(tmp_path), "--json")
    assert {card["name"] for card in json.loads(listed.output)} >= {"tweet", "bbc"}
    shown = json.loads(run("datasets", "show", "tweet", "--json").output)
    assert shown["classes"] == 89 and "contextual10" in shown["views"]
    assert "not here" in run("datasets", "list", "--data", str(tmp_path)).output


def test_a_suite_prints_a_table(tmp_path: Path) -> None:
    result = run("smoke", "--only", "TF-IDF", "--out", str(tmp_path), "--markdown")
    assert result.exit_code == 0
    assert "| TF-IDF + k-means |" in result.stdout
    assert (tmp_path / "smoke.jsonl").exists()
    shown = run("smoke", "--out", str(tmp_path), "--markdown", "--show")
    assert shown.stdout == result.stdout
    assert run("smoke", "--out", str(tmp_path / "no"), "--show").exit_code == 2
    assert "encoder" in run().output
