"""Suites of the papers' own tables: each system on its data sets, and its ablations."""

from __future__ import annotations

from coterie.bench.entries import Entry, Suite

EDA = ("eda",)
PAIRS = ("contextual10", "eda")  # contextual substitution where it was published

SCCL_SETS = {"biomedical": {"alpha": 10.0}}
STEPS = {"steps": 1000}
SCCL = Suite(
    "sccl",
    "SCCL with the published contextual pairs (10%), 1,000 steps; wants a GPU",
    (
        Entry("SCCL, official-code preset", "sccl", STEPS, "official-code", PAIRS, SCCL_SETS),
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
            Entry(f"pairs: {kind}", "sccl", STEPS, None, (kind,), datasets=(
                "stackoverflow", "agnews", "googlenews-t", "tweet"))
            for kind in STRENGTHS
        ),
        Entry("pairs: charswap20", "sccl", STEPS, None, ("charswap20",),
              datasets=("stackoverflow",)),
    ),
    ("agnews", "searchsnippets", "stackoverflow", "biomedical", "googlenews-ts", "googlenews-t",
     "googlenews-s", "tweet"),
    3,
)  # fmt: skip
AECL = Suite(
    "aecl",
    "AECL with the published EDA variants, 70 epochs; wants a GPU",
    (
        Entry("AECL, default", "aecl", views=EDA),
        Entry("AECL, official-code preset", "aecl", preset="official-code", views=EDA),
    ),
    ("agnews", "searchsnippets", "stackoverflow", "biomedical", "googlenews-t", "tweet"),
    5,
)
AECL_ABLATIONS = Suite(
    "aecl-ablations",
    "AECL's Tables 3, 4 and 5: what each part brings; wants a GPU",
    (
        Entry("AECL", "aecl", views=EDA),
        Entry("no IC (no guided positives)", "aecl", {"positives": "none"}, views=EDA),
        Entry("no stage 1", "aecl", {"contrast_epochs": 0}, views=EDA),
        Entry("no stage 2", "aecl", {"label_epochs": 0}, views=EDA),
        Entry("no PG (no pseudo-labels)", "aecl", {"label_weight": 0.0}, views=EDA),
        Entry("no RC (no row entropy)", "aecl", {"entropy_weight": 0.0}, views=EDA),
    ),
    ("stackoverflow", "searchsnippets"),
    3,
)
DECCRL_SETS = {"biomedical": {"alpha": 10.0, "n_topics": 20}}
DECCRL = Suite(
    "deccrl",
    "DECCRL with contextual pairs (EDA where none were published); wants a GPU",
    (Entry("DECCRL, default", "deccrl", views=PAIRS, by_dataset=DECCRL_SETS),),
    ("agnews", "stackoverflow", "biomedical"),
    5,
)
DECCRL_ABLATIONS = Suite(
    "deccrl-ablations",
    "DECCRL's Table 3 and Figure 4: reconstruction, and the number of topics; wants a GPU",
    (
        Entry("DECCRL", "deccrl", views=PAIRS),
        Entry("without CRL", "deccrl", {"reconstruction": "none"}, views=PAIRS),
        Entry("without CRL, with LSR", "deccrl", {"reconstruction": "latent"}, views=PAIRS),
        *(
            Entry(f"{t} topics", "deccrl", {"n_topics": t}, views=PAIRS)
            for t in (1, 10, 15, 20, 25, 30)
        ),
    ),
    ("stackoverflow",),
    3,
)
CLUSTER_BERT = Suite(
    "cluster-bert",
    "ClusterBERT in its fast preset; wants a GPU",
    (Entry("ClusterBERT, fast preset", "cluster-bert", preset="fast"),),
    ("stackoverflow", "searchsnippets", "biomedical", "agnews", "bbc-sentences", "googlenews-ts"),
    5,
)
CLUSTER_BERT_ABLATIONS = Suite(
    "cluster-bert-ablations",
    "ClusterBERT's Figure 4: without reconstruction in stages 2 and 3; wants a GPU",
    (
        Entry("ClusterBERT", "cluster-bert", preset="fast"),
        Entry("without reconstruction", "cluster-bert", {"reconstruction": False}, "fast"),
    ),
    ("stackoverflow", "agnews"),
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
