"""Speed lines: what is counted, and what a table of them shows."""

from typer.testing import CliRunner

from coterie.methods.train import OPTIMIZATIONS
from coterie_bench.cli import app
from coterie_bench.score import step_ms
from coterie_bench.suites import SUITES, DataFile, Entry, Suite
from coterie_bench.tables import summarize_speed


def reading(stage: str, step: int, seconds: float) -> dict:
    return {"stage": stage, "step": step, "seconds": seconds, "terms": {"loss": 1.0}}


def test_the_first_readings_and_short_stages_do_not_count() -> None:
    slow = [reading("a", 10 * i, 5.0 * i) for i in (1, 2, 3)]  # while things warm up
    even = [reading("a", 10 * i, 15 + 0.02 * 10 * (i - 3)) for i in range(4, 9)]
    other = [{"stage": "a", "step": 80, "changed": 0.1, "seconds": 99.0}]
    short = [reading("b", 10 * i, i) for i in (1, 2, 3, 4)]
    assert step_ms(slow + even + other + short) == {"a": 20.0}
    assert step_ms([]) == {}


def test_every_shortcut_is_left_out_once() -> None:
    for method in ("sccl", "aecl"):
        entries = [e for e in SUITES["speed"].entries if e.method == method]
        left = [
            set(OPTIMIZATIONS) - set(e.parameters.get("optimizations") or OPTIMIZATIONS)
            for e in entries
        ]
        assert [{name} for name in OPTIMIZATIONS] == [part for part in left if len(part) == 1]


def test_the_fast_path_is_compared_with_one_that_has_no_shortcut_at_all() -> None:
    ways = {entry.label: entry.parameters for entry in SUITES["same-labels"].entries}
    for method in ("SCCL", "AECL"):
        plain = {"optimizations": False, "precision": "float32"}
        assert ways[f"{method}, plain float32"] == {**ways[f"{method}, fast"], **plain}
    assert SUITES["same-labels"].seeds == 5


def test_the_table_shows_steps_and_the_whole() -> None:
    row = {
        "label": "SCCL, all shortcuts", "dataset": "stackoverflow", "step_ms": {"joint": 10.87},
        "seconds": {"train": 3.0, "encode": 1.5}, "scores": {"nmi": 0.7},
    }  # fmt: skip
    header, body = summarize_speed([row, {**row, "step_ms": {}}])
    assert body[0] == ["SCCL, all shortcuts", "stackoverflow", "10.9", "4", "70.0"]
    assert body[1][2] == "" and len(header) == 5


def test_the_command_measures_a_run(tmp_path, monkeypatch, labelled: DataFile) -> None:
    entry = Entry("SCCL", "sccl", {"steps": 60, "batch_size": 16, "encoder": "tfidf"})
    small = Suite("speed", "", (entry,), ("topics",), 1, files=(labelled,))
    monkeypatch.setitem(SUITES, "speed", small)
    result = CliRunner().invoke(app, ["speed", "--out", str(tmp_path), "--device", "cpu"])
    assert result.exit_code == 0, result.output
    line = result.output.splitlines()[-1].split()
    assert line[0] == "SCCL" and float(line[2]) > 0
