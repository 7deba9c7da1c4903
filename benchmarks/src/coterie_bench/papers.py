"""Suites of the papers' tables: their systems, ablations, baselines and sensitivity, as data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coterie_bench.datasets import CARDS
from coterie_bench.entries import Entry, Suite, union

EDA = ("eda",)
PAIRS = ("contextual10", "eda")  # contextual substitution where it was published

SCCL_SETS = {"biomedical": {"alpha": 10.0}}
STEPS = {"steps": 1000}
SCCL = Suite(
    "sccl",
    "SCCL with the published contextual pairs (10%), 1,000 steps; wants a GPU",
    (
        Entry(
            "SCCL, official rates, 1,000 steps", "sccl", STEPS, "official-code", PAIRS, SCCL_SETS
        ),
        Entry("SCCL, default", "sccl", STEPS, None, PAIRS, SCCL_SETS, "eda"),
    ),
    ("stackoverflow", "agnews", "googlenews-t", "tweet"),
    5,
)
STRENGTHS = ("contextual10", "contextual20", "contextual30")
SCCL_ABLATIONS = Suite(
    "sccl-ablations",
    "SCCL's Figures 3 and 5: one term or both, and how strong the pairs are; wants a GPU",
    (
        *(
            Entry(label, "sccl", {**STEPS, "objective": objective}, None, PAIRS, SCCL_SETS, "eda")
            for label, objective in (
                ("SCCL", "joint"),
                ("instances only", "instance"),
                ("clusters only", "clustering"),
                ("instances, then clusters", "sequential"),
            )
        ),
        *(
            Entry(
                f"pairs: {kind}",
                "sccl",
                STEPS,
                None,
                (kind,),
                datasets=("stackoverflow", "googlenews-t"),
            )
            for kind in STRENGTHS
        ),
        Entry(
            "pairs: charswap20", "sccl", STEPS, None, ("charswap20",), datasets=("stackoverflow",)
        ),
    ),
    (
        "agnews",
        "searchsnippets",
        "stackoverflow",
        "biomedical",
        "googlenews-ts",
        "googlenews-t",
        "googlenews-s",
        "tweet",
    ),
    3,
)
AECL_BALANCE = {  # lambda_4 of the paper; the presets have that of even classes, 10
    "searchsnippets": {"balance_weight": 0.18},
    "googlenews-ts": {"balance_weight": 0.09},
    "googlenews-t": {"balance_weight": 0.09},
    "googlenews-s": {"balance_weight": 0.09},
    "tweet": {"balance_weight": 0.09},
}
AECL = Suite(
    "aecl",
    "AECL with the published EDA variants, 70 epochs; wants a GPU",
    (
        Entry("AECL, default", "aecl", views=EDA),
        Entry(
            "AECL, official-code preset",
            "aecl",
            preset="official-code",
            views=EDA,
            by_dataset=AECL_BALANCE,
        ),
        Entry("AECL, paper preset", "aecl", preset="paper", views=EDA, by_dataset=AECL_BALANCE),
    ),
    ("agnews", "searchsnippets", "stackoverflow", "biomedical", "googlenews-t", "tweet"),
    5,
)
AECL_PARTS: dict[str, dict[str, Any]] = {
    "no IC (no guided positives)": {"positives": "none"},
    "no stage 1": {"contrast_epochs": 0},
    "no stage 2": {"label_epochs": 0},
    "no PG (no pseudo-labels)": {"label_weight": 0.0},
    "no RC (no row entropy)": {"entropy_weight": 0.0},
}
AECL_ABLATIONS = Suite(
    "aecl-ablations",
    "AECL's Tables 3, 4 and 5: what each part brings; wants a GPU",
    (
        Entry("AECL", "aecl", views=EDA),
        *(Entry(label, "aecl", part, views=EDA) for label, part in AECL_PARTS.items()),
    ),
    ("stackoverflow", "searchsnippets"),
    3,
)
DECCRL_SETS = {"biomedical": {"alpha": 10.0, "n_topics": 20}}
TOPICS = {"stackoverflow": 5, "agnews": 5, "biomedical": 20}  # in a cluster, as in the paper
DECCRL = Suite(
    "deccrl",
    "DECCRL with contextual pairs (EDA where none were published); wants a GPU",
    (Entry("DECCRL, default", "deccrl", views=PAIRS, by_dataset=DECCRL_SETS),),
    ("agnews", "stackoverflow", "biomedical"),
    5,
)
DECCRL_WEIGHTS = (0.01, 0.1, 1.0)  # of the reconstruction; the default is 0.001
DECCRL_FORMS: dict[str, dict[str, Any]] = {
    "DECCRL": {},
    "without CRL": {"reconstruction": "none"},
    "without CRL, with LSR": {"reconstruction": "latent"},
    **{f"topic_weight={w:g}": {"topic_weight": w} for w in DECCRL_WEIGHTS},
    # With the default weight the autoencoder's error is a ten-thousandth of the loss.
    **{
        f"without CRL, weight {w:g} of LSR": {"reconstruction": "latent", "topic_weight": w}
        for w in (1.0, 10.0)
    },
}
NUMBERS = (1, 5, 10, 15, 20, 25, 30)  # of topics, Figure 4


def _topics() -> list[Entry]:
    """The number of topics: with the default weight, and with one at which words are felt."""
    weights: dict[str, dict[str, Any]] = {"": {}, ", weight 0.1": {"topic_weight": 0.1}}
    return [
        Entry(
            f"{t} topics{told}",
            "deccrl",
            {"n_topics": t, **weight},
            views=PAIRS,
            by_dataset={"biomedical": {"alpha": 10.0}},
            datasets=tuple(
                name
                for name, usual in TOPICS.items()
                if usual != t and (weight or name == "stackoverflow")
            ),
        )
        for told, weight in weights.items()
        for t in NUMBERS
        if weight or t != TOPICS["stackoverflow"]
    ]


DECCRL_ABLATIONS = Suite(
    "deccrl-ablations",
    "DECCRL's Table 3 and Figure 4: reconstruction, its weight, number of topics; wants a GPU",
    (
        *(
            Entry(label, "deccrl", parameters, views=PAIRS, by_dataset=DECCRL_SETS)
            for label, parameters in DECCRL_FORMS.items()
        ),
        *_topics(),
    ),
    tuple(TOPICS),
    3,
)
CLUSTER_BERT_SETS = (  # its GoogleNews has texts of 38 letters: the titles
    "stackoverflow",
    "searchsnippets",
    "biomedical",
    "agnews",
    "bbc-sentences",
    "googlenews-t",
)
CLUSTER_BERT = Suite(
    "cluster-bert",
    "ClusterBERT in its fast preset; wants a GPU",
    (Entry("ClusterBERT, fast preset", "cluster-bert", preset="fast"),),
    CLUSTER_BERT_SETS,
    5,
)
CLUSTER_BERT_ABLATIONS = Suite(
    "cluster-bert-ablations",
    "ClusterBERT's Figures 3 and 4: stage by stage, with and without reconstruction; wants a GPU",
    (
        Entry("ClusterBERT", "cluster-bert", {"record_stages": True}, "fast"),
        Entry(
            "without reconstruction",
            "cluster-bert",
            {"reconstruction": False, "record_stages": True},
            "fast",
        ),
    ),
    CLUSTER_BERT_SETS,
    3,
)
ADSL = Suite(
    "adsl",
    "ADSL's Table 2: hard, soft, dynamic and weighted labels; no transformer, no GPU needed",
    (
        Entry("NN+one", "adsl", {"variant": "one"}),
        Entry("NN+SL", "adsl", {"variant": "soft"}),
        Entry("NN+DSL", "adsl", {"variant": "dynamic"}),
        Entry("NN+ADSL", "adsl"),
    ),
    ("stackoverflow", "reuters-r8"),
    5,
)

PAPER_SUITES = (
    SCCL,
    SCCL_ABLATIONS,
    AECL,
    AECL_ABLATIONS,
    DECCRL,
    DECCRL_ABLATIONS,
    CLUSTER_BERT,
    CLUSTER_BERT_ABLATIONS,
    ADSL,
)


# What the papers compare with.
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
PLAIN_IDEC = {"cluster": "idec", "guard": False}  # lines do not tell what its guard returned
TABLE_3: dict[str, dict[str, Any]] = {
    "k-means": {},
    "IDEC": PLAIN_IDEC,
    "UMAP + k-means": WIDE,
    "UMAP + IDEC": {**WIDE, **PLAIN_IDEC},
}
SECOND_STEPS = Suite(
    "second-steps",
    "ClusterBERT's Table 3: with UMAP or without, k-means or IDEC, behind two encoders",
    tuple(
        Entry(f"{label} + {steps}", method, parameters)
        for label, method in (("SIF", "sif-kmeans"), ("encoder", "kmeans"))
        for steps, parameters in TABLE_3.items()
    ),
    CLUSTER_BERT_SETS,
    3,
)


TRAINED_ENCODERS = (
    "ClusterBERT",
    "SCCL",
    "TSDAE",
)  # `coterie-bench trained-encoders`
BENCHMARKS = tuple(name for name, card in CARDS.items() if card.group == "benchmark")
DEV = tuple(name for name, card in CARDS.items() if card.group == "dev")
LANGUAGES = tuple(name for name, card in CARDS.items() if card.group == "lang")
NEWS = ("googlenews-ts", "googlenews-t", "googlenews-s")


def _aecl(first: int, second: int, balance: float) -> dict[str, Any]:
    return {"contrast_epochs": first, "label_epochs": second, "balance_weight": balance}


# Lengths of the first two stages and the weight of even sizes, sections 4.9 and 4.10 of AECL.
AECL_SETS = {
    "agnews": _aecl(10, 1, 10.0),
    "searchsnippets": _aecl(10, 1, 0.18),
    "stackoverflow": _aecl(2, 1, 10.0),
    "biomedical": _aecl(2, 1, 10.0),
    **{name: _aecl(10, 6, 0.09) for name in NEWS},
    "tweet": _aecl(20, 10, 0.09),
}

# Figures 7 to 9 of AECL: four weights, and the lengths of the first two stages.
AECL_SWEEPS: dict[str, tuple[float, ...]] = {
    "contrast_weight": (0, 5, 10, 15, 20),
    "label_weight": (1, 5, 10, 15),
    "entropy_weight": (0.001, 0.005, 0.01, 0.1),
    "balance_weight": (0.09, 0.18, 0.5, 1, 10),
    "contrast_epochs": (2, 6, 10, 15, 20),
    "label_epochs": (1, 2, 6, 10, 15),
}
ADSL_SWEEPS: dict[str, tuple[float, ...]] = {"sharpness": (1, 2, 5, 10, 20, 50)}  # Figure 4a
SCCL_SWEEPS: dict[str, tuple[float, ...]] = {"temperature": (0.1, 0.3, 0.5, 0.7, 1)}  # A.1


def label_of(name: str, value: float) -> str:
    """How an entry of a sweep is called.

    Examples
    --------
    >>> label_of("label_weight", 5)
    'label_weight=5'
    """
    return f"{name}={value:g}"


def _sweep(
    method: str,
    sweeps: dict[str, tuple[float, ...]],
    more: dict[str, Any] | None = None,
    **entry: Any,
) -> list[Entry]:
    whole = ("contrast_epochs", "label_epochs")
    sets = AECL_SETS if method == "aecl" else {}  # all else as in the paper
    return [
        Entry(
            label_of(name, v),
            method,
            {name: v if name in whole else float(v), **(more or {})},
            by_dataset={
                d: {k: own for k, own in kept.items() if k != name} for d, kept in sets.items()
            },
            **entry,
        )
        for name, values in sweeps.items()
        for v in values
    ]


SENSITIVITY = Suite(
    "sensitivity",
    "AECL's Figures 7 to 9, ADSL's Figure 4, SCCL's temperature: one by one; wants a GPU",
    (
        *_sweep("aecl", AECL_SWEEPS, views=("eda",), own_views="eda"),
        *_sweep(
            "sccl",
            SCCL_SWEEPS,
            more={"steps": 1000},
            views=PAIRS,
            datasets=("stackoverflow", "tweet"),
        ),
        *_sweep("adsl", ADSL_SWEEPS, datasets=("stackoverflow",)),
    ),
    ("stackoverflow", "searchsnippets", "googlenews-ts", "tweet"),
    3,
)


# The rest of the authors' script: eps2 over the scale, refreshes, steps of contrast alone.
RSTC_ALL: dict[str, dict[str, Any]] = {
    **RSTC_SETS,
    "agnews": {"balance_weight": 0.1, "refreshes": 110, "contrast_steps": 600},
    "biomedical": {"balance_weight": 0.1, "refreshes": 50},
    **{n: {"balance_weight": 0.001, "refreshes": 82, "contrast_steps": 600} for n in NEWS},
}


def _own(entry: Entry, **changes: Any) -> Entry:
    """The entry with our own pairs where none were published."""
    return replace(entry, own_views="eda", **changes)


def _rstc() -> list[Entry]:
    default, paper = (entry for entry in BASELINES.entries if entry.method == "rstc")
    return [_own(default), _own(paper, by_dataset=RSTC_ALL)]


PAPERS = Suite(
    "papers",
    "the papers' systems, the encoder alone and auto on the eight benchmarks; wants a GPU",
    (
        *UNTRAINED,
        Entry("auto", "auto"),
        *(_own(entry) for entry in SCCL.entries),
        *(_own(entry) for entry in AECL.entries[:2]),
        Entry("AECL, settings of the paper", "aecl", {}, None, EDA, AECL_SETS, "eda"),
        *(_own(entry) for entry in DECCRL.entries),
        *CLUSTER_BERT.entries,
        *_rstc(),
        Entry("NN+ADSL", "adsl"),
    ),
    BENCHMARKS,
    5,
    parts=(
        "sccl",
        "aecl",
        "deccrl",
        "cluster-bert",
        "adsl",
        "encoder",
        "two-step",
        "auto",
        "baselines",
    ),
)

# The papers' own settings, on the sets where the authors' code was run with the same encoder, and
# where there is none on sets of the paper.
AUTHORS = {
    "sccl": ("stackoverflow", "agnews", "googlenews-t", "tweet"),
    "aecl": ("agnews", "searchsnippets", "stackoverflow", "tweet"),
    "rstc": ("stackoverflow", "tweet"),
}
_OFFICIAL, _PRINTED = AECL.entries[1:]
AECL_OF_THE_CODE: dict[str, dict[str, Any]] = {
    "temperatures": {"temperature": 0.5, "cluster_temperature": 1.0},
    "attention": {"attention": "layer"},
    "heads": {"head": "mlp"},
    "logarithms": {"form": "row"},
    "slips": {"compat": "official"},
}
AECL_PRINTED = Suite(
    "aecl-printed",
    "AECL as printed, with one choice of the released code at a time; wants a GPU",
    (
        _PRINTED,
        *(
            replace(_PRINTED, label=f"as printed, {what} of the code", parameters=parameters)
            for what, parameters in AECL_OF_THE_CODE.items()
        ),
        _OFFICIAL,
    ),
    ("searchsnippets", "stackoverflow", "tweet"),
    3,
    parts=("presets", "aecl"),
)
AECL_RELEASED = Suite(
    "aecl-released",
    "AECL's Tables 3, 4 and 5 in the form of the released code; wants a GPU",
    (
        _OFFICIAL,
        *(
            replace(_OFFICIAL, label=f"released, {label}", parameters=part)
            for label, part in AECL_PARTS.items()
        ),
    ),
    AECL_ABLATIONS.datasets,
    3,
    parts=("presets", "aecl"),
)
PRESETS = Suite(
    "presets",
    "the five papers, and RSTC, in their own settings: the presets as they are; wants a GPU",
    (
        Entry(
            "SCCL, paper preset", "sccl", {}, "paper", PAIRS, SCCL_SETS, datasets=AUTHORS["sccl"]
        ),
        Entry(
            "SCCL, official-code preset",
            "sccl",
            {},
            "official-code",
            PAIRS,
            SCCL_SETS,
            datasets=AUTHORS["sccl"],
        ),
        replace(_PRINTED, datasets=AUTHORS["aecl"]),
        replace(_OFFICIAL, datasets=AUTHORS["aecl"]),
        *(
            Entry(
                f"DECCRL, {preset} preset",
                "deccrl",
                {},
                preset,
                PAIRS,
                DECCRL_SETS,
                datasets=DECCRL.datasets,
            )
            for preset in ("paper", "as-printed")
        ),
        Entry(
            "ClusterBERT, paper preset",
            "cluster-bert",
            preset="paper",
            datasets=("agnews", "tweet"),  # batches of 8 leave a GPU idle: the two smallest sets
        ),
        Entry("ADSL, paper preset", "adsl", preset="paper", datasets=("stackoverflow",)),
        replace(_rstc()[1], own_views=None, datasets=AUTHORS["rstc"]),
    ),
    BENCHMARKS,
    3,
    parts=("papers", "aecl", "baselines"),
)

FIVE = (
    "SCCL, default",
    "AECL, default",
    "DECCRL, default",
    "ClusterBERT, fast preset",
    "RSTC, default",
)
SYSTEMS = replace(
    PAPERS,
    name="systems",
    about="five trained systems, one setting each, on the eight benchmarks; wants a GPU",
    entries=tuple(entry for entry in PAPERS.entries if entry.label in FIVE),
    parts=("papers", *PAPERS.parts),
)

ABLATIONS = union(
    "ablations",
    "the ablations of all papers: what each part brings; wants a GPU",
    (SCCL_ABLATIONS, AECL_ABLATIONS, DECCRL_ABLATIONS, CLUSTER_BERT_ABLATIONS, ADSL),
    3,
)
