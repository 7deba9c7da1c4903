"""All suites by name: what to run, as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from coterie._validation import check_choice
from coterie.bench.baselines import BASELINES, SECOND_STEPS, UNTRAINED
from coterie.bench.entries import Entry, Suite
from coterie.bench.papers import PAPER_SUITES
from coterie.bench.sensitivity import SENSITIVITY
from coterie.bench.speed import SAME, SPEED
from coterie.bench.whole import ABLATIONS, BENCHMARKS, DEV, LANGUAGES, PAPERS, SYSTEMS
from coterie.methods import METHODS

KMEANS, AUTO = Entry("encoder + k-means", "kmeans"), Entry("auto", "auto")

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "encoder",
            "the default encoder and k-means on the eight benchmarks: is the data path right?",
            (KMEANS,),
            BENCHMARKS,
            3,
        ),
        Suite(
            "dev",
            "the default and k-means on the thirteen development sets, where settings are chosen",
            (KMEANS, AUTO),
            DEV,
            3,
        ),
        replace(
            SYSTEMS,
            name="dev-systems",
            about="five trained systems on the development sets: what the start guard returns",
            datasets=DEV,
            seeds=1,
            parts=(),
        ),
        Suite(
            "lang",
            "the default and k-means on six sets in other languages than English",
            (KMEANS, AUTO),
            LANGUAGES,
            3,
        ),
        Suite(
            "stability",
            "spread over five seeds, and over five draws of noise on the vectors, on 21 sets",
            (KMEANS, AUTO),
            (*BENCHMARKS, *DEV),
            5,
            draws=5,
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
                AUTO,
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


def entries_for(methods: Iterable[str]) -> tuple[Entry, ...]:
    """One entry for each method at its defaults, under the label that the suites give it.

    Trained systems run as in the suite ``systems``.
    """
    plain = [e for e in (*UNTRAINED, AUTO) if not e.parameters and e.preset is None]
    known = {entry.method: entry for entry in (*plain, *SYSTEMS.entries)}
    return tuple(
        known.get(name) or Entry(name, check_choice("--methods: each", name, METHODS))
        for name in methods
    )
