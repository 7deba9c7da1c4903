"""Several processes at one file: every run is done, and none twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from coterie.errors import CoterieError
from coterie_bench.ledger import key_of, read_results
from coterie_bench.run import Options, Task, run_suite, run_tasks, threads_shared
from coterie_bench.suites import Entry, Suite, plan

SHELL = """
import sys
from pathlib import Path
from coterie_bench.run import Options, run_suite
from coterie_bench.suites import read_suite
if __name__ == "__main__":
    run_suite(read_suite(Path(sys.argv[1])), Path(sys.argv[2]), Options(), jobs=int(sys.argv[3]))
"""


def write_suite(small: Suite, folder: Path, seeds: int) -> Path:
    (own,) = small.files
    path = folder / "suite.toml"
    path.write_text(
        f'seeds = {seeds}\n[[data]]\nname = "topics"\nfile = "{own.file.name}"\n'
        'labels_column = "topic"\ntext_column = "text"\n'
        '[[entries]]\nmethod = "tfidf-kmeans"\n[[entries]]\nmethod = "sccl"\n'
        '[entries.parameters]\nencoder = "tfidf"\nsteps = 20\nbatch_size = 30\n'
    )
    return path


def test_jobs_and_a_second_command_share_the_runs(small: Suite, tmp_path: Path) -> None:
    broken = Entry("broken", "tfidf-kmeans", {"n_init": -1})
    suite = replace(small, entries=(broken, *small.entries), seeds=4)
    out, errors, told = tmp_path / "out.jsonl", [], [[], []]

    def command(number: int, jobs: int) -> None:
        try:
            run_suite(suite, out, Options(), jobs=jobs, tell=told[number].append)
        except CoterieError as error:
            errors.append(str(error))

    other = threading.Thread(target=command, args=(1, 1))
    other.start()
    command(0, 2)
    other.join()
    rows = read_results([out])
    assert len(rows) == len({key_of(row) for row in rows}) == 8
    assert not list(tmp_path.glob(".*claims"))
    # Each command tries a broken run once, whichever of its processes does.
    assert len(errors) == 2
    assert all("4 of 12 runs failed, first broken on topics" in error for error in errors)
    assert all("`n_init` should be an integer" in error for error in errors)


def test_several_suites_share_processes_and_do_common_runs_once(
    small: Suite, tmp_path: Path
) -> None:
    first, second = (
        Task(suite, (0, 1), Options(), tmp_path / f"{suite.name}.jsonl")
        for suite in (
            replace(small, name="first", entries=small.entries[:1]),
            replace(small, name="second", parts=("first",)),  # has the run of the first, too
        )
    )
    found = run_tasks([first, second], jobs=2)
    in_files = [{r["label"] for r in read_results([task.file])} for task in (first, second)]
    assert in_files == [{small.entries[0].label}, {e.label for e in small.entries[1:]}]
    assert [len(rows) for rows in found] == [2, 2 * len(small.entries)]


@pytest.mark.slow
def test_an_interrupted_command_ends_its_processes(small: Suite, tmp_path: Path) -> None:
    path, out = write_suite(small, tmp_path, 400), tmp_path / "out.jsonl"
    command = [sys.executable, "-c", SHELL, str(path), str(out), "2"]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as parent:
        begun = time.monotonic()
        while not out.exists() and time.monotonic() - begun < 120:
            time.sleep(0.2)
        os.kill(parent.pid, signal.SIGINT)
        assert parent.wait(timeout=60) != 0
    done = len(read_results([out]))  # all lines are whole
    time.sleep(1)
    assert done == len(read_results([out]))  # and nobody goes on
    assert not list(tmp_path.glob(".*claims"))


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threads_shared(3):
        assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # the user's word
    with threads_shared(3):
        assert os.environ["OMP_NUM_THREADS"] == "2"


def test_plans_go_by_data_set_and_keep_to_the_sets_of_an_entry() -> None:
    entries = (Entry("a", "kmeans"), Entry("b", "kmeans", datasets=("y",)))
    found = plan(Suite("s", "", entries, ("x", "y"), 2), find_k=True)
    assert [(j.dataset, j.entry.label, j.seed, j.k) for j in found[:4]] == [
        ("x", "a", 0, "given"),
        ("x", "a", 1, "given"),
        ("x", "a", 0, "found"),
        ("x", "a", 1, "found"),
    ]
    assert {j.dataset for j in found if j.entry.label == "b"} == {"y"}
    assert len(found) == 12
