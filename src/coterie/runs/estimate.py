"""What a large run will take, said before it begins: a probe of this machine and known costs.

Seconds are counted in three currencies, each measured for a moment here and now: texts encoded,
distances computed, rows read. How many of each a run needs was fitted to the runs of
``coterie-bench calibrate``; a test holds time within a factor of two of them, and memory of one and
a half. The result is meant to tell minutes from hours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coterie._facts import peak_memory

if TYPE_CHECKING:
    from coterie.base import TextClusterer
    from coterie.encoders import Encoder
    from coterie.runs.sample import SampledCorpus

PROBED = 300  # texts
BLOCK = (1_000, 4_000)  # vectors, whose distances are timed
LLOYD = 12  # times that k-means looks at all centers, in each start
CHOOSING = 1_000_000_000  # distances for the number of clusters, which looks at 3,000 texts
FIXED = 8.0  # seconds: libraries that are loaded, the page
SHOWING = 0.0004  # seconds for describing and drawing one text of the sample
COPIES = 8  # of the sample's vectors at the same time, at most
DISTANCES = 1 << 25  # numbers of four bytes, when a block of texts meets the sample
OF_ROW = 64  # bytes that are kept of each row
UNKNOWN_K = 100  # clusters, as long as their number is to be found
OUTLIERS = 5_000  # texts that outlier scores are measured by


@dataclass(frozen=True)
class Job:
    """What there is to do."""

    # rows, sample: rows to label and different texts to fit
    rows: int
    sample: int
    tried: int  # texts of the sample that are clustered, which may be fewer
    clusters: int | None  # None if their number is to be found
    ways: int  # k-means clusterings of the sample; 0 if the method trains, which is not counted
    comparisons: int  # how often the sample is compared with itself
    neighbors: bool  # whether rows go to the nearest text, not to the nearest center
    n_init: int = 10


@dataclass(frozen=True)
class Speeds:
    """What this machine does now."""

    encoding: float  # texts a second
    comparing: float  # distances a second
    row: float  # seconds to read a row
    dim: int
    resident: int  # bytes that the program holds already


def seconds_for(job: Job, speeds: Speeds) -> float:
    """Time that the job takes, without training.

    Examples
    --------
    >>> job = Job(1_000, 100, 100, 10, ways=1, comparisons=0, neighbors=False, n_init=1)
    >>> seconds_for(job, Speeds(100.0, 1e6, 0.001, 8, 0))  # 11 + 0.11 + 0.012 + 2 + 0.04 + 8
    21.162
    """
    k = job.clusters or UNKNOWN_K
    encoding = (job.rows + job.sample) / speeds.encoding
    targets = (job.tried if job.neighbors else k) + min(job.sample, OUTLIERS)
    assigning = job.rows * targets / speeds.comparing
    lloyd = job.ways * job.n_init * LLOYD * job.tried * k
    fitting = (lloyd + job.comparisons * job.tried**2) / speeds.comparing
    choosing = 0.0 if job.clusters else CHOOSING / speeds.comparing
    tables = 2 * job.rows * speeds.row  # reading again, and writing
    showing = SHOWING * job.sample + FIXED
    return round(encoding + assigning + fitting + choosing + tables + showing, 6)


def bytes_for(job: Job, speeds: Speeds) -> int:
    """Memory that the job takes at its peak.

    Examples
    --------
    >>> job = Job(1_000, 100, 100, 10, ways=1, comparisons=0, neighbors=False)
    >>> bytes_for(job, Speeds(100.0, 1e6, 0.001, 8, 5_000))  # 5,000 + 64,000 + 25,600
    94600
    """
    meeting = 4 * min(DISTANCES, job.tried**2) if job.neighbors else 0
    return speeds.resident + OF_ROW * job.rows + 4 * COPIES * job.sample * speeds.dim + meeting


def sentence(job: Job, speeds: Speeds, method: str) -> str:
    """The estimate as it is printed.

    Examples
    --------
    >>> job = Job(2_000_000, 100, 100, 10, ways=1, comparisons=0, neighbors=False)
    >>> sentence(job, Speeds(2_000.0, 1e9, 1e-5, 8, 300_000_000), "kmeans")
    'about 2,000,000 texts: about 17 minutes and 0.4 GB'
    """
    took = in_words(seconds_for(job, speeds))
    more = "" if job.ways else f", and what {method} takes to train"
    return f"about {job.rows:,} texts: about {took} and {bytes_for(job, speeds) / 1e9:.1f} GB{more}"


def in_words(seconds: float) -> str:
    """A span of time, as roughly as an estimate is.

    Examples
    --------
    >>> in_words(42), in_words(100), in_words(4000), in_words(90_000)
    ('42 seconds', '2 minutes', '1.1 hours', '25 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 90 * 60:
        minutes = max(seconds / 60, 2)
        return f"{minutes:.0f} minutes" if minutes < 60 else f"{minutes / 60:.1f} hours"
    return f"{seconds / 3600:.1f} hours" if seconds < 10 * 3600 else f"{seconds / 3600:.0f} hours"


def make_job(model: TextClusterer, rows: int, sample: int, k: int | None) -> Job:
    """What the model has to do with so many rows."""
    from coterie.methods import Auto, TwoStep
    from coterie.methods.auto import RUNS

    ways, comparisons, neighbors, tried, starts = 0, 0, False, sample, model.n_init
    if isinstance(model, Auto):
        tried = model.n_fitted(sample, k or UNKNOWN_K)
        ways, comparisons, starts = 2 * RUNS[model.effort] + 3, 2, 1
    elif isinstance(model, TwoStep):
        centers = model.cluster in ("kmeans", "spherical-kmeans") and model.reduce == "none"
        neighbors = not centers or model.smooth > 0
        ways, comparisons = 1, 8 if neighbors else 0
    return Job(rows, sample, tried, k, ways, comparisons, neighbors, starts)


def probe(
    model: TextClusterer,
    texts: Sequence[str],
    row: float,
    clock: Callable[[], float] = time.perf_counter,
    encoder: Encoder | None = None,
) -> Speeds:
    """Time a few texts and distances.

    Parameters
    ----------
    model : TextClusterer
        Not fitted.
    texts : sequence of str
        Different ones.
    row : float
        Seconds that reading a row took.
    clock : callable, default=time.perf_counter
        ``time.process_time`` leaves out what others do on the machine.
    encoder : Encoder, optional
        That of the model, loaded already.
    """
    import torch

    from coterie._validation import check_device
    from coterie.encoders import no_cache

    some = list(texts[:PROBED])
    if encoder is None:
        encoder = model._make_encoder(0)
        encoder.learn(some)
    encoder.to(check_device(model.device))
    with no_cache():
        for part in (some[:20], some):  # the first words cost more than all that follow
            begun = clock()
            items, _ = encoder.prepare(part)
            vectors = encoder.encode(items.to(check_device(model.device)))
            spent = clock() - begun
    a, b = (torch.ones(n, vectors.shape[1]) for n in BLOCK)
    took = []
    for _ in range(3):
        begun = clock()
        (a @ b.T).square_().clamp_(min=0).min(dim=1)
        took.append(clock() - begun)
    comparing = BLOCK[0] * BLOCK[1] / max(sorted(took)[1], 1e-9)
    resident = peak_memory().get("resident", 0)
    encoding = len(some) / max(spent, 1e-9)
    return Speeds(encoding, comparing, row, int(vectors.shape[1]), resident)


def expected(
    corpus: SampledCorpus, model: TextClusterer, clusters: int | None, encoder: Encoder
) -> str:
    """What a run on a sample will take, in a sentence."""
    found = corpus.survey
    job = make_job(model, found.rows, len(found.texts), clusters)
    speeds = probe(model, found.texts, corpus.seconds / found.rows, encoder=encoder)
    return sentence(job, speeds, model.name)
