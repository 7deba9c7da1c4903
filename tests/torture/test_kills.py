"""kill -9 at every moment of a command: what is left can be continued, to the very same files."""

from __future__ import annotations

import json
import random
import re
import shutil
import time
from pathlib import Path

import pytest

SETTINGS = ["steps=6", "batch_size=8", "checkpoint_every=0", "lr=1e-3", "head_lr=1e-2"]
DEC = ["ae_steps=6", "steps=6", "ae_layers=[8,4]", "refresh_every=3", "checkpoint_every=0"]
OPTIONS = {
    "sccl": ["-m", "sccl", "--levels", "2,3", "--write", "jsonl", *SETTINGS],
    "dec": ["-m", "dec", "--max-outliers", "10%", *DEC],
    "kmeans": ["-m", "kmeans", "--write", "xlsx"],
    "sample": ["-m", "kmeans", "--fit-sample", "12", "--write", "parquet"],
}


def cluster(kind: str) -> list[str]:
    """A command that clusters; ``KEY=VALUE`` is a setting of the method."""
    told = ["cluster", "t.csv", "-k", "3", "--encoder", "tfidf", "--out", "run", "-q"]
    for option in OPTIONS[kind]:
        told += ["--set", option] if re.fullmatch(r"[a-z_]+=.*", option) else [option]
    return told


@pytest.fixture(scope="module")
def table(topics) -> str:
    return "id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(topics[0][:24]))


def rich(place: Path, table: str) -> Path:
    place.mkdir()
    (place / "t.csv").write_text(table)
    return place


def chosen(count: int, request: pytest.FixtureRequest, quick: int) -> list[int]:
    """All moments with --slow, some spread over them without."""
    if request.config.getoption("--slow"):
        return list(range(count))
    return sorted({round(i * (count - 1) / (quick - 1)) for i in range(quick)})


def states(folder: Path, fingerprints) -> str:
    """What lies in a folder, without the numbers of processes."""
    return re.sub(r"\.\d+(?:-\w+)?\.(tmp|new|old)", r".N.\1", json.dumps(fingerprints(folder)))


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_killed_run_is_continued_to_the_same_files(
    kind: str, killer, fast_disk: Path, table: str, request, fingerprints
) -> None:
    if kind != "sccl" and not request.config.getoption("--slow"):
        pytest.skip("takes minutes: run with --slow")
    command = cluster(kind)
    whole = rich(fast_disk / "whole", table)
    assert killer.run(whole, *command) == 0, killer.said()
    expected, moments = fingerprints(whole), killer.moments()
    assert len(moments) > 30
    seen: set[str] = set()
    for number in chosen(len(moments), request, 3):
        place = rich(fast_disk / f"cut{number}", table)
        assert killer.run(place, *command, kill_at=number) == -9
        left = states(place, fingerprints)
        if left in seen:
            continue
        seen.add(left)
        manifest = place / "run" / "manifest.json"
        status = json.loads(manifest.read_text())["status"] if manifest.exists() else "nothing"
        results = (place / "run" / "report.html").exists()
        assert status in ("running", "done", "nothing") and not (results and status == "nothing")
        told = f"killed before {moments[number]}"
        assert killer.run(place, *command, "--resume") == 0, f"{told}\n{killer.said()}"
        assert fingerprints(place) == expected, told
    assert len(seen) > 2


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_and_resume_give_the_identical_result(
    times: int, killer, fast_disk: Path, table: str, fingerprints
) -> None:
    command = cluster("sccl")
    whole, cut = rich(fast_disk / "whole", table), rich(fast_disk / "cut", table)
    assert killer.run(whole, *command) == 0, killer.said()
    first = killer.moments().index("exchange")  # the second checkpoint takes its place
    # Once: the step is finished and kept. Twice: at once, in the middle of that.
    asked = [first, first + 2][:times]
    assert killer.run(cut, *command, interrupt_at=asked) == 130, killer.said()
    assert "--resume" in killer.said() and "Traceback" not in killer.said()
    manifest = json.loads((cut / "run" / "manifest.json").read_text())
    assert manifest["status"] == "interrupted"
    assert (cut / "run" / "checkpoint" / "state.json").exists()
    assert not (cut / "run" / "report.html").exists()
    assert killer.run(cut, *command, "--resume") == 0, killer.said()
    assert fingerprints(cut) == fingerprints(whole)
    assert not (cut / "run" / "checkpoint").exists()


@pytest.mark.slow
def test_a_killed_overwrite_leaves_a_run_that_can_be_continued(
    killer, fast_disk: Path, table: str, fingerprints
) -> None:
    whole = rich(fast_disk / "whole", table)
    first, second = cluster("sccl"), [*cluster("kmeans"), "--overwrite"]
    assert killer.run(whole, *first) == 0
    assert killer.run(whole, *second) == 0
    expected, count = fingerprints(whole), len(killer.moments())
    for number in range(count):
        place = rich(fast_disk / f"cut{number}", table)
        assert killer.run(place, *first) == 0
        earlier = fingerprints(place / "run")
        assert killer.run(place, *second, kill_at=number) == -9
        manifest = json.loads((place / "run" / "manifest.json").read_text())
        assert manifest["status"] == "done"  # the old run until the new one takes its place
        if manifest["method"] == "sccl":
            left = fingerprints(place / "run")
            assert {k: v for k, v in left.items() if k in earlier} == earlier
        begun = (place / "run" / ".next" / "manifest.json").exists()
        go_on = ["--resume"] if begun or manifest["method"] == "kmeans" else ["--overwrite"]
        assert killer.run(place, *cluster("kmeans"), *go_on) == 0, killer.said()
        assert fingerprints(place) == expected


@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl", "labels.parquet"])
def test_killed_predictions_are_continued(
    name: str, killer, fast_disk: Path, table: str, request, fingerprints
) -> None:
    if name != "labels.csv" and not request.config.getoption("--slow"):
        pytest.skip("takes minutes: run with --slow")
    whole = rich(fast_disk / "whole", table)
    assert killer.run(whole, *cluster("kmeans")) == 0
    command = ["predict", "run", "t.csv", "--out", name]
    assert killer.run(whole, *command) == 0, killer.said()
    expected, count = (whole / name).read_bytes(), len(killer.moments())
    for number in chosen(count, request, 3):
        for old in whole.glob("labels*"):
            old.unlink()
        assert killer.run(whole, *command, kill_at=number) == -9
        assert not (whole / name).exists() or number == count - 1
        cut = whole / name.replace("labels.", "labels.partial.")
        if cut.exists() and not name.endswith("parquet"):  # as if the disk had half of a write
            cut.write_bytes(cut.read_bytes()[:-7])
        resume = [] if name.endswith("parquet") else ["--resume"]
        assert killer.run(whole, *command, *resume) == 0, killer.said()
        assert (whole / name).read_bytes() == expected


def test_killed_augmentation_leaves_no_half_file(
    killer, fast_disk: Path, table: str, request
) -> None:
    place = rich(fast_disk / "augment", table)
    command = ["augment", "t.csv", "--kind", "charswap", "-q", "--out", "t.views.csv"]
    assert killer.run(place, *command) == 0, killer.said()
    file = place / "t.views.csv"
    expected, count = file.read_bytes(), len(killer.moments())
    for number in chosen(count, request, 2):
        file.unlink(missing_ok=True)
        assert killer.run(place, *command, kill_at=number) == -9
        assert not file.exists() or file.read_bytes() == expected
        assert killer.run(place, *command) == 0, killer.said()
        assert file.read_bytes() == expected


def test_a_killed_edit_or_undo_leaves_the_old_run_or_the_new(
    killer, fast_disk: Path, table: str, fingerprints, request
) -> None:
    whole = rich(fast_disk / "whole", table)
    (whole / "e.json").write_text(json.dumps([{"merge": [0, 1]}, {"rename": {"2": "Two"}}]))
    assert killer.run(whole, *cluster("kmeans")) == 0

    def now() -> dict[str, str]:  # a killed process leaves its file of the lock, but no lock
        return {k: v for k, v in fingerprints(whole / "run").items() if k != ".lock"}

    before = now()
    log = re.compile(r"edits.jsonl|earlier/")
    stride = 1 if request.config.getoption("--slow") else 50
    for command in (["edit", "run", "e.json"], ["edit", "run", "--undo"]):
        old, number = now(), 0
        while killer.run(whole, *command, kill_at=number) == -9:
            if now() != old:  # killed behind the swap: the change is whole
                break
            number += stride
        assert number > 20
        if now() == old:
            assert killer.run(whole, *command) == 0
    assert {k: v for k, v in now().items() if not log.search(k)} == before


@pytest.mark.slow
def test_kills_at_random_times(killer, fast_disk: Path, table: str, fingerprints) -> None:
    draw = random.Random(0)
    command = cluster("sccl")
    whole = rich(fast_disk / "whole", table)
    begun = time.monotonic()
    assert killer.run(whole, *command) == 0
    took, expected, kills = time.monotonic() - begun, fingerprints(whole), 0
    for number in range(200):
        place = rich(fast_disk / f"r{number}", table)
        resume: list[str] = []
        for _ in range(draw.randint(1, 3)):  # one to three times in a row
            code = killer.run(place, *command, *resume, kill_after=draw.random() * took)
            kills += code == -9
            resume = ["--resume"]
            took *= 1.0 if code else 0.9  # it was quicker than the first: the machine is less busy
        assert killer.run(place, *command, *resume) == 0, killer.said()
        assert fingerprints(place) == expected
        shutil.rmtree(place)
        if kills >= 40:
            return
    pytest.fail(f"only {kills} commands were killed in time")


WHOLE = {"labels.csv", "big.views.csv"}  # never seen half
BRIEF = {  # a command, how it goes on, and what it makes
    "predict": (["predict", "run", "big.csv", "--out", "labels.csv"], ["--resume"], "labels*.csv"),
    "augment": (
        ["augment", "big.csv", "--kind", "charswap", "-q", "--out", "big.views.csv"],
        [], "big.views*",
    ),
    "bench": (
        ["bench", "encoder", "--datasets", "sample", "--encoder", "bow", "--seeds", "3",
         "--out", "results", "--set", "n_init=1", "-q"], [], "results/*",
    ),
}  # fmt: skip


def made(place: Path, pattern: str) -> dict[str, object]:
    """What a command made; of the lines of a benchmark, seed and scores."""
    found: dict[str, object] = {}
    for file in sorted(path for path in place.glob(pattern) if path.is_file()):
        found[file.name] = file.read_bytes()
        if file.suffix == ".jsonl":
            rows = map(json.loads, file.read_text().rpartition("\n")[0].splitlines())
            found[file.name] = [(row["seed"], row["scores"]) for row in rows]
        elif pattern.startswith("results"):
            found[file.name] = "made from the lines"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", BRIEF)
def test_brief_commands_killed_at_random_times(
    name: str, killer, fast_disk: Path, table: str
) -> None:
    """At forty moments that no file marks: in the middle of reading, encoding, writing."""
    draw = random.Random(1)
    command, resume, pattern = BRIEF[name]
    place = rich(fast_disk / "place", table)
    rows = 100 * table.splitlines()[1:]
    (place / "big.csv").write_text("id,text\n" + "".join(f"{row}\n" for row in rows))
    assert killer.run(place, *cluster("kmeans")) == 0, killer.said()
    begun = time.monotonic()
    assert killer.run(place, *command) == 0, killer.said()
    took, expected, kills = time.monotonic() - begun, made(place, pattern), 0
    assert expected
    for _ in range(200):
        for old in place.glob(pattern):  # claims of runs are a folder
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        code, more = -9, []
        for _ in range(draw.randint(1, 2)):
            if code:  # else it was quicker than the kill
                code = killer.run(place, *command, *more, kill_after=draw.random() * took)
                kills, more = kills + (code == -9), resume
                left = {k: v for k, v in made(place, pattern).items() if k in WHOLE}
                assert left.items() <= expected.items()  # there and complete, or not there
        assert code == 0 or killer.run(place, *command, *more) == 0, killer.said()
        assert made(place, pattern) == expected
        if kills >= 40:
            return
    pytest.fail(f"only {kills} commands were killed in time")


def test_two_processes_on_one_folder_refuse_each_other(killer, fast_disk: Path, table: str) -> None:
    from coterie._folders import held

    place = rich(fast_disk / "shared", table)
    with held(place / "run"):
        for more in ([], ["--resume"], ["--overwrite"]):
            assert killer.run(place, *cluster("kmeans"), *more) == 2
            assert "another process" in killer.said() and "is working on run" in killer.said()
        assert [path.name for path in (place / "run").iterdir()] == [".lock"]
    assert killer.run(place, *cluster("kmeans")) == 0, killer.said()
    assert not (place / "run" / ".lock").exists()
