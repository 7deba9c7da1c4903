"""Result files: lines are whole, runs are claimed once, and the dead hold nothing."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coterie.errors import DataError
from coterie_bench.ledger import Ledger, key_of, read_results

ROW = {
    "label": "a", "method": "sccl", "preset": None, "parameters": {"steps": 3}, "dataset": "d",
    "dataset_sha256": "0", "seed": 0,
}  # fmt: skip


def append_many(file: Path, who: int) -> None:
    for number in range(40):
        Ledger(file).append({**ROW, "label": f"{who}-{number}", "filler": "x" * 20_000})


def test_lines_of_several_writers_stay_whole(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with ThreadPoolExecutor(3) as pool:  # each opens the file anew, as processes do
        list(pool.map(append_many, [file] * 3, range(3)))
    rows = read_results([file])
    assert {row["label"] for row in rows} == {f"{w}-{n}" for w in range(3) for n in range(40)}
    assert len(rows) == 120


def test_a_line_that_was_cut_off_does_not_count_and_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    ledger = Ledger(file)
    ledger.append(ROW)
    with file.open("a") as stream:
        stream.write('{"label": "b", "sco')
    assert read_results([file]) == [ROW]
    ledger.append({**ROW, "seed": 1})
    assert [row["seed"] for row in read_results([file])] == [0, 1]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(f"{json.dumps(ROW)}\nnonsense\n{json.dumps(ROW)}\n")
    with pytest.raises(DataError, match="line 2 is not JSON"):
        read_results([file])


def test_a_run_is_claimed_once_and_freed(tmp_path: Path) -> None:
    file, key = tmp_path / "r.jsonl", key_of(ROW)
    first, second = Ledger(file), Ledger(file)
    with first.claim(key) as mine, second.claim(key) as theirs, second.claim("other") as other:
        assert (mine, theirs, other) == (True, False, True)
    with second.claim(key) as theirs:
        assert theirs
        second.append(ROW)
    with first.claim(key) as mine:
        assert not mine  # it is done, though nobody holds it
    assert list(tmp_path.iterdir()) == [file]  # nothing is left lying about


HOLD = """
import sys, time
from pathlib import Path
from coterie_bench.ledger import Ledger
with Ledger(Path(sys.argv[1])).claim("key") as mine:
    sys.stdout.write(f"{mine}\\n"); sys.stdout.flush()
    time.sleep(60)
"""


def test_claims_of_the_dead_are_free(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    command = [sys.executable, "-c", HOLD, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "True\n"
        with Ledger(file).claim("key") as mine:
            assert not mine
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    begun = time.monotonic()
    with Ledger(file).claim("key") as mine:
        assert mine
    assert time.monotonic() - begun < 5
    Ledger(file).tidy()
    assert list(tmp_path.iterdir()) == []


def test_a_parameter_at_its_default_does_not_make_another_run() -> None:
    """A line from before a parameter existed is that of a run that leaves it alone."""
    newer = {**ROW, "parameters": {"steps": 3, "tune": "full", "optimizations": True}}
    assert key_of(newer) == key_of(ROW)
    assert key_of({**newer, "protocol": "all", "k": "given"}) == key_of(ROW)
    for other in ({"parameters": {"steps": 3, "tune": "heads"}}, {"parameters": {"steps": 4}},
                  {"protocol": "split"}, {"k": "found"}, {"seed": 1}):  # fmt: skip
        assert key_of({**newer, **other}) != key_of(ROW)
    found = {**ROW, "k": "found", "parameters": {"steps": 3, "n_clusters": 5}}
    assert key_of(found) == key_of({**found, "parameters": {"steps": 3, "n_clusters": None}})


@pytest.mark.parametrize("name", ["encoder", "sccl"])
def test_lines_that_are_committed_are_found_done(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite whose settings have moved away from its lines would run everything again."""
    from coterie_bench import run
    from coterie_bench.data import Data
    from coterie_bench.datasets import PAIRS
    from coterie_bench.ledger import head
    from coterie_bench.suites import SUITES, Job

    monkeypatch.setattr(run, "find_pairs", lambda name, kind, _: Path(PAIRS[name, kind].file))
    entries = {entry.label: entry for entry in SUITES[name].entries}
    rows = read_results([Path(__file__).parents[2] / "results" / f"{name}.jsonl"])
    assert rows
    for row in rows:
        if row.get("k", "given") == "found":
            continue  # its number is not the data set's
        entry, k = entries[row["label"]], row["parameters"]["n_clusters"]
        train = [] if row.get("protocol") == "split" else None
        data = Data(row["dataset"], row["dataset_sha256"], [], [], k, None, train)
        # Lines of the split were made with `--set guard=false`.
        given = {"guard": False} if row["parameters"].get("guard") is False else None
        model = run.make(entry, data, row["seed"], run.Options(parameters=given))
        assert key_of(head(Job(row["dataset"], entry, row["seed"]), model, data)) == key_of(row)
