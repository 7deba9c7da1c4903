"""All suites by name: what to run, as data."""

from __future__ import annotations

from coterie.bench.baselines import BASELINES, SECOND_STEPS, UNTRAINED
from coterie.bench.entries import Entry, Suite
from coterie.bench.papers import PAPER_SUITES
from coterie.bench.sensitivity import SENSITIVITY
from coterie.bench.speed import SAME, SPEED
from coterie.bench.whole import ABLATIONS, BENCHMARKS, PAPERS, SYSTEMS

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "encoder",
            "the default encoder and k-means on the eight benchmarks: is the data path right?",
            (Entry("encoder + k-means", "kmeans"),),
            BENCHMARKS,
            3,
        ),
        Suite(
            "two-step",
            "everything that trains nothing, on the eight benchmarks",
            UNTRAINED,
            BENCHMARKS,
            3,
        ),
        Suite(
            "auto",
            "the default of the command line: several quick ways, chosen without labels",
            (
                Entry("auto", "auto"),
                Entry("auto, quick", "auto", {"effort": "quick"}),
            ),
            BENCHMARKS,
            3,
        ),
        Suite(
            "sample",
            "the bundled messages by every method, SCCL on dropout pairs; wants a GPU",
            (
                Entry("BoW + k-means", "bow-kmeans"),
                Entry("TF-IDF + k-means", "tfidf-kmeans"),
                Entry("encoder + k-means", "kmeans"),
                Entry("encoder + UMAP + k-means", "umap-kmeans"),
                Entry("encoder + average linkage", "average"),
                Entry("encoder + Ward", "ward"),
                Entry("auto", "auto"),
                Entry("SCCL, official-code-virtual preset", "sccl", {"max_length": 64},
                      "official-code-virtual"),
                Entry("SCCL, default", "sccl", {"max_length": 64}),
            ),
            ("sample",),
            3,
        ),
        Suite(
            "smoke",
            "the bundled sample in a minute: does everything run?",
            (
                Entry("TF-IDF + k-means", "tfidf-kmeans"),
                Entry("encoder + k-means", "kmeans"),
                Entry("SCCL (20 small steps)", "sccl",
                      {"steps": 20, "batch_size": 64, "max_length": 64}, "official-code-virtual"),
            ),
            ("sample",),
            1,
        ),
        BASELINES,
        SECOND_STEPS,
        *PAPER_SUITES,
        PAPERS,
        SYSTEMS,
        ABLATIONS,
        SENSITIVITY,
        SPEED,
        SAME,
    )
}  # fmt: skip
