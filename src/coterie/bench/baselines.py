"""Suites of what the papers compare with: methods of others, trained or not, and second steps."""

from __future__ import annotations

from coterie.bench.entries import Entry, Suite

PAIRS = ("contextual10", "eda")  # contextual substitution where it was published
RSTC_SETS = {  # the authors' script: eps2 over the scale, and steps of contrast alone
    "stackoverflow": {"balance_weight": 0.1, "refreshes": 50},
    "searchsnippets": {"balance_weight": 0.01, "refreshes": 74, "contrast_steps": 600},
    "tweet": {"balance_weight": 0.001, "refreshes": 110},
}
TFIDF = {"encoder": "tfidf"}

UNTRAINED = (
    Entry("BoW + k-means", "bow-kmeans"),
    Entry("TF-IDF + k-means", "tfidf-kmeans"),
    Entry("encoder + k-means", "kmeans"),
    Entry("encoder + spherical k-means", "spherical-kmeans"),
    Entry("encoder + UMAP + k-means", "umap-kmeans"),
    Entry("encoder + average linkage", "average"),
    Entry("encoder + Ward", "ward"),
)

BASELINES = Suite(
    "baselines",
    "what the papers compare with, on three benchmarks; RSTC, TSDAE and VaSCL want a GPU",
    (
        Entry("BoW + k-means", "bow-kmeans"),
        Entry("TF-IDF + k-means", "tfidf-kmeans"),
        Entry("SIF + k-means", "sif-kmeans"),
        Entry("encoder + k-means", "kmeans"),
        Entry("encoder + UMAP + k-means", "umap-kmeans"),
        Entry("encoder + mixture of Gaussians", "gmm"),
        Entry("encoder + UMAP + HDBSCAN", "umap-hdbscan"),
        Entry("HAC-SD", "hac-sd"),
        Entry("HAC-SD, iterative classification", "hac-sd", {}, "iterative"),
        Entry("consensus", "consensus"),
        Entry("LDA, topics", "lda"),
        Entry("LDA + Ward", "lda", {"cluster": "ward"}),
        Entry("KATE + k-means", "kate"),
        Entry("KATE + Ward", "kate", {"cluster": "ward"}),
        Entry("TF-IDF + autoencoder + k-means", "autoencoder", TFIDF),
        Entry("encoder + autoencoder + k-means", "autoencoder"),
        Entry("TF-IDF + DEC", "dec", TFIDF),
        Entry("encoder + DEC", "dec"),
        Entry("encoder + IDEC", "idec"),
        Entry("Self-Train", "self-train"),
        *(Entry(f"STCC, {code}", "stcc", {"code": code}) for code in ("lpi", "le", "lsa", "mean")),
        Entry("TSDAE", "tsdae"),
        Entry("VaSCL", "vascl"),
        Entry("RSTC, default", "rstc", views=PAIRS),
        Entry("RSTC, paper preset", "rstc", {}, "paper", PAIRS, RSTC_SETS),
    ),
    ("stackoverflow", "searchsnippets", "tweet"),
    3,
)

WIDE = {"reduce": "umap", "reduced_dim": None}
SECOND_STEPS = Suite(
    "second-steps",
    "ClusterBERT's Table 3: with UMAP or without, k-means or IDEC, behind two encoders",
    tuple(
        Entry(f"{label} + {steps}", method, parameters)
        for label, method in (("SIF", "sif-kmeans"), ("encoder", "kmeans"))
        for steps, parameters in (
            ("k-means", {}),
            ("UMAP + k-means", WIDE),
            ("IDEC", {"cluster": "idec"}),
            ("UMAP + IDEC", {**WIDE, "cluster": "idec"}),
        )
    ),
    ("stackoverflow", "searchsnippets", "biomedical", "agnews", "bbc-sentences", "googlenews-t"),
    3,
)
