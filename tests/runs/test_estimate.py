"""The estimate before a large run: its arithmetic, its words, and what it looks at."""

import pytest

from coterie import SCCL, Auto, TwoStep
from coterie.methods.auto import RUNS
from coterie.runs import estimate
from coterie.runs.estimate import Job, Speeds, bytes_for, make_job, probe, seconds_for, sentence

SPEEDS = Speeds(encoding=1000.0, comparing=1e8, row=2e-5, dim=256, resident=400_000_000)


def loop(job: Job, speeds: Speeds) -> float:
    """Every piece of work counted one by one, slow and obvious."""
    distances = 0.0
    k = job.clusters or estimate.UNKNOWN_K
    for _ in range(job.ways * job.n_init * estimate.LLOYD):
        distances += job.tried * k
    for _ in range(job.comparisons):
        distances += job.tried * job.tried
    for _ in range(job.rows):
        distances += job.tried if job.neighbors else k
        distances += min(job.sample, estimate.OUTLIERS)
    if job.clusters is None:
        distances += estimate.CHOOSING
    seconds = distances / speeds.comparing
    seconds += (job.rows + job.sample) / speeds.encoding
    seconds += 2 * job.rows * speeds.row + job.sample * estimate.SHOWING
    return seconds + estimate.FIXED


@pytest.mark.parametrize("clusters", [None, 3, 40])
@pytest.mark.parametrize("neighbors", [True, False])
@pytest.mark.parametrize("sample", [50, 7000])
def test_seconds_equal_the_loop(clusters: int | None, neighbors: bool, sample: int) -> None:
    job = Job(9_000, sample, sample // 2, clusters, 3, 5, neighbors)
    assert seconds_for(job, SPEEDS) == pytest.approx(loop(job, SPEEDS), rel=1e-6)


def test_time_grows_with_the_rows_and_not_faster() -> None:
    small, large = (Job(n, 25_000, 12_000, 50, 11, 8, True) for n in (100_000, 1_000_000))
    assert 1 < seconds_for(large, SPEEDS) / seconds_for(small, SPEEDS) < 10


def test_memory_grows_by_bytes_a_row() -> None:
    small, large = (Job(n, 25_000, 12_000, 50, 11, 8, True) for n in (0, 1_000_000))
    grown = bytes_for(large, SPEEDS) - bytes_for(small, SPEEDS)
    assert grown == estimate.OF_ROW * 1_000_000 < 100_000_000
    assert bytes_for(large, SPEEDS) < 4e9


@pytest.mark.parametrize(
    ("model", "ways", "comparisons", "neighbors"),
    [
        (Auto(2), 2 * RUNS["standard"] + 3, 2, False),
        (Auto(2, effort="quick"), 2 * RUNS["quick"] + 3, 2, False),
        (TwoStep(2), 1, 0, False),
        (TwoStep(2, cluster="ward"), 1, 8, True),
        (TwoStep(2, smooth=2), 1, 8, True),
        (SCCL(2), 0, 0, False),
    ],
)
def test_jobs_of_methods(model, ways: int, comparisons: int, neighbors: bool) -> None:
    job = make_job(model, 10, 5, None)
    assert (job.ways, job.comparisons, job.neighbors) == (ways, comparisons, neighbors)
    assert job.clusters is None and make_job(model, 10, 5, 7).clusters == 7
    many = make_job(model, 1_000_000, 25_000, 7)
    tried = 10_000 if isinstance(model, Auto) else 25_000
    assert (many.sample, many.tried) == (25_000, tried)


def test_training_is_said_to_come_on_top() -> None:
    job = make_job(SCCL(2), 1000, 100, 8)
    assert sentence(job, SPEEDS, "sccl").endswith("GB, and what sccl takes to train")


def test_the_probe_measures_this_machine() -> None:
    texts = [f"word{i % 30} word{i % 7} number {i}" for i in range(400)]
    found = probe(TwoStep(2, encoder="tfidf"), texts, row=1e-5)
    assert 100 < found.encoding < 1e8 and 1e5 < found.comparing < 1e13
    assert found.dim > 10 and found.row == 1e-5 and found.resident > 5e7
