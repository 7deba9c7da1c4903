"""``coterie predict`` in a stream: at once, in constant memory, complete or not there."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import rows, run, write_csv
from coterie import TwoStep, load
from said import says

MEGABYTE = 1 << 20
PEAK = """
import resource, sys
from coterie.cli import app
app(sys.argv[1:], standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def texts() -> list[str]:
    fruits, cars = ["apple", "plum", "pear", "fig"], ["car", "bus", "truck", "van"]
    return [f"{a} {b} number {i}" for i in range(40) for a in fruits for b in ("ripe", "sweet")] + [
        f"{a} {b} number {i}" for i in range(40) for a in cars for b in ("fast", "loud")
    ]


@pytest.fixture(scope="module")
def folder(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    TwoStep(4, encoder="tfidf", random_state=0).fit(texts).save(path)
    return path


@pytest.fixture(scope="module")
def file(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few thousand rows, some of them without a text, a thousand of these in a row."""
    many = [*texts * 5, *[""] * 1200, *texts[::-1] * 5, "?", "last one"]
    return write_csv(tmp_path_factory.mktemp("data") / "new.csv", ("id", "text"), *enumerate(many))


@pytest.fixture(scope="module")
def labelled(folder: Path, file: Path) -> Path:
    out = file.parent / "labelled.csv"
    run("predict", folder, file, "--out", out)
    return out


def test_labels_are_those_of_all_texts_at_once(folder: Path, file: Path, labelled: Path) -> None:
    found = rows(labelled)
    whole = load(folder).assess([row["text"] for row in rows(file)])
    assert [int(row["cluster"]) for row in found] == whole.labels.tolist()
    confidence = whole.probabilities.max(axis=1)
    assert [float(row["confidence"]) for row in found] == pytest.approx(confidence, abs=1e-4)
    assert [row["id"] for row in found] == [row["id"] for row in rows(file)]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(folder: Path, texts: list[str], tmp_path: Path) -> None:
    """30,000 more rows of 1,000 bytes are 30 MB in the file, and several times that in memory."""
    peaks = []
    for n in (25_000, 55_000):  # both have parts of full size
        rows = ((texts[i % len(texts)], f"{i} " * 160) for i in range(n))
        source = write_csv(tmp_path / f"{n}.csv", ("text", "more"), *rows)
        command = [sys.executable, "-c", PEAK, "predict", str(folder), str(source)]
        done = subprocess.run(
            [*command, "-o", str(tmp_path / f"{n}.out.csv")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peaks.append(int(done.stderr.splitlines()[-1]) * (1 if sys.platform == "darwin" else 1024))
    assert peaks[1] - peaks[0] < 20 * MEGABYTE, [peak / MEGABYTE for peak in peaks]


@pytest.mark.slow
def test_ctrl_c_leaves_no_half_of_a_table(folder: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "big.txt", tmp_path / "out.csv"
    source.write_text("".join(f"ripe apple {i}\n" for i in range(400_000)))
    command = [sys.executable, "-m", "coterie", "predict", str(folder), str(source), "-o", str(out)]
    child = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in background
    )
    for _ in range(600):
        if any(path.stat().st_size > 100_000 for path in tmp_path.glob(".out.csv.*")):
            break
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130, said
    assert list(tmp_path.iterdir()) == [source]


def test_a_file_without_a_word_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\n?\n...\n")
    out = tmp_path / "out.csv"
    result = run("predict", folder, tmp_path / "a.csv", "-o", out, code=3)
    assert says(result.output, "are empty or have", "2")
    assert not out.exists()


def test_outliers_are_counted_over_all_parts(folder: Path, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    arguments = ["predict", str(folder), str(file), "-o", str(out), "--outlier-limit", "0.7"]
    result = run(*arguments)
    marked = sum(row["outlier"] == "yes" for row in rows(out))
    placed = sum(row["outlier_score"] != "" for row in rows(out))
    assert marked > 0
    assert says(result.output, "%) are outliers", format(marked, ","), format(placed, ","))
