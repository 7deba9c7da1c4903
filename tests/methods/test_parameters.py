"""Parameters of the methods: values just outside, options, presets, and vectors from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import coterie
from coterie import AECL, METHODS, RSTC
from coterie.errors import UsageError
from coterie.methods.train import TrainingContext

OUTSIDE: list[tuple[str, dict[str, Any]]] = [  # what is wrong everywhere is in the contract
    ("adsl", {"attention_min": 0, "decay": 0.0, "dropout": 1.0, "max_features": 0}),
    ("adsl", {"ae_layers": (), "max_length": 2, "refresh_epochs": 0, "word_vectors": "absent"}),
    ("aecl", {"cluster_temperature": 0, "references": 0, "temperature": 0, "threshold": 0}),
    ("cluster-bert", {"cluster_weight": 1.5, "deletion": 2, "harden_weight": 0, "rounds": 0}),
    ("cluster-bert", {"round_epochs": 0, "max_length": 1}),
    ("consensus", {"n_members": 0}),
    ("deccrl", {"alpha": 0, "latent_dim": 0, "n_topics": 0, "projection_dim": 0}),
    ("deccrl", {"temperature": 0, "word_dim": None, "word_vectors": "absent.txt"}),
    ("idec", {"ae_dropout": 1.0, "ae_layers": (), "alpha": 0, "refresh_every": 0}),
    ("kmeans", {"min_cluster_size": 1, "n_init": 0, "reduced_dim": 0}),
    ("rstc", {"label_steps": 1.5, "refreshes": 0, "smoothness": 0.0, "temperature": 0}),
    ("sccl", {"alpha": 0, "projection_dim": 0, "temperature": 0, "tol": True}),
]


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [(method, name, value) for method, wrong in OUTSIDE for name, value in wrong.items()],
)
def test_values_just_outside_are_refused(method: str, name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        METHODS[method].make(2, **{name: value}).fit(["a cat", "the dog"])


SHORT: dict[str, dict[str, Any]] = {
    "adsl": {"ae_layers": (60, 20), "ae_steps": 20, "epochs": 4, "refresh_epochs": 2},
    "aecl": {"contrast_epochs": 1, "encoder": "tfidf", "epochs": 3, "label_epochs": 1},
    "cluster-bert": {"encoder": "tfidf"},
    "deccrl": {"encoder": "tfidf", "steps": 6, "word_dim": 20},
    "rstc": {"encoder": "tfidf", "refresh_every": 5, "steps": 18},
    "sccl": {"encoder": "tfidf", "steps": 6},
}
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("adsl", {"variant": "one"}),
    ("adsl", {"variant": "soft"}),
    ("adsl", {"variant": "dynamic", "label_norm": "softmax"}),
    ("adsl", {"dense_input": True}),
    ("aecl", {"positives": "none"}),
    ("aecl", {"contrast_epochs": 0}),
    ("aecl", {"label_epochs": 0}),
    ("aecl", {"label_weight": 0.0, "entropy_weight": 0.0}),
    ("aecl", {"attention": "matrices", "head": "linear"}),
    ("aecl", {"references": 1, "early_positives": "head"}),
    ("aecl", {"spherical": False, "compat": "official"}),
    ("cluster-bert", {"reconstruction": False}),
    ("cluster-bert", {"head_start": "random", "reinit_head": True}),
    ("cluster-bert", {"adapt_epochs": 0, "rounds": 1}),
    ("cluster-bert", {"deletion": 0.0, "normalize": True}),
    ("deccrl", {"assign": "soft", "mask_duplicates": False}),
    ("deccrl", {"assign": "gumbel", "reseed": False}),
    ("deccrl", {"assign": "paper", "negatives": "cross-view-decoupled"}),
    ("deccrl", {"labels_from": "kmeans", "n_topics": 1}),
    ("deccrl", {"reconstruction": "latent", "latent_dim": 2}),
    ("deccrl", {"reconstruction": "none", "alpha": 10.0}),
    ("deccrl", {"word_vectors": "ppmi"}),
    ("rstc", {"contrast_steps": 6, "label_steps": 6, "labels_from": "kmeans"}),
    ("sccl", {"clustering_loss": "crossed", "mask_duplicates": False}),
    ("sccl", {"clustering_loss": "to-views", "objective": "clustering"}),
    ("sccl", {"frequency": "running"}),
    ("sccl", {"frequency": "corpus", "refresh_every": 3}),
    ("sccl", {"labels_from": "head", "objective": "sequential"}),
    ("sccl", {"objective": "instance"}),
]


@pytest.mark.parametrize(("method", "options"), OPTIONS, ids=str)
def test_every_option_trains_and_predicts_its_own_labels(method: str, options, topics) -> None:
    texts = topics[0][:45]
    settings = {**SHORT[method], "batch_size": 15, "guard": False, "random_state": 0, **options}
    model = METHODS[method].make(3, **settings).fit(texts)
    assert np.isfinite(model.history_.losses()).all()
    np.testing.assert_array_equal(model.predict(texts), model.labels_)


# As the papers, or their released code, print them; the page of each method says where.
PRESETS: list[tuple[str, str, dict[str, Any]]] = [
    ("adsl", "paper", {"ae_lr": 5e-5, "label_norm": "softmax", "normalize": False, "lr": 1e-3}),
    ("adsl", "paper", {"ae_layers": (500, 2000, 200), "batch_size": 64, "max_features": 3000}),
    ("adsl", "paper-long", {"ae_lr": 5e-4, "decay": 0.85, "refresh_epochs": 6, "sharpness": 10}),
    ("aecl", "paper", {"temperature": 1.0, "cluster_temperature": 0.5, "balance_weight": 10}),
    ("aecl", "paper", {"attention": "matrices", "head": "linear", "form": "text", "lr": 5e-6}),
    ("aecl", "paper-skewed", {"balance_weight": 0.18, "compat": "printed", "head_lr": 5e-4}),
    ("aecl", "paper-long-tail", {"balance_weight": 0.09, "epochs": 70, "threshold": 0.95}),
    ("aecl", "official-code", {"temperature": 0.5, "cluster_temperature": 1, "compat": "official"}),
    ("aecl", "official-code-skewed", {"balance_weight": 0.18, "batch_size": 400, "n_init": 1}),
    ("cluster-bert", "paper", {"lr": 2e-5, "head_lr": 2e-5, "batch_size": 8, "max_length": 64}),
    ("cluster-bert", "paper", {"cluster_weight": 0.8, "harden_weight": 0.75, "deletion": 0.6}),
    ("cluster-bert", "paper", {"adapt_epochs": 2, "rounds": 2, "round_epochs": 2}),
    ("cluster-bert", "fast", {"lr": pytest.approx(2e-5 * 8**0.5), "batch_size": 64}),
    ("cluster-bert", "tsdae", {"lr": 3e-5, "pooling": "cls", "rounds": 0, "harden_epochs": 0}),
    ("deccrl", "paper", {"batch_size": 200, "max_length": 32, "temperature": 0.5, "alpha": 1}),
    ("deccrl", "paper", {"cluster_weight": 0.2, "topic_weight": 1e-3, "n_topics": 5}),
    ("deccrl", "paper-biomedical", {"alpha": 10, "n_topics": 20}),
    ("deccrl", "as-printed", {"negatives": "cross-view-decoupled", "assign": "paper"}),
    ("rstc", "paper", {"label_steps": 40, "steps": 3000, "eta": 10, "temperature": 1.0}),
    ("rstc", "paper", {"lr": 5e-6, "head_lr": 5e-4, "batch_size": 200, "tol": 0.01}),
    ("sccl", "paper", {"lr": 5e-6, "head_lr": 5e-4, "eta": 10, "temperature": 0.5}),
    ("sccl", "paper", {"batch_size": 400, "max_length": 32, "alpha": 1.0}),
    ("sccl", "official-code", {"lr": 1e-5, "head_lr": 1e-3, "steps": 3000, "eta": 10}),
    ("sccl", "official-code-virtual", {"cluster_weight": 0.5}),
]


@pytest.mark.parametrize(("method", "preset", "values"), PRESETS, ids=str)
def test_presets_have_the_values_of_their_source(method: str, preset: str, values: dict) -> None:
    made = coterie.make_method(method, 3, preset=preset).get_params()
    assert {name: made[name] for name in values} == values


WIDTH: dict[str, Callable[[Any], int]] = {
    "adsl": lambda model: model.encoder_.embedding.embedding_dim,
    "deccrl": lambda model: model.net_.topics.rho.shape[1],
}


@pytest.mark.parametrize("method", WIDTH)
def test_word_vectors_come_from_a_file(method: str, topics, tmp_path: Path) -> None:
    def file(width: int) -> str:
        numbers = " 0.5 -1" * (width // 2)
        words = sorted({word for text in topics[0] for word in text.split()})
        (tmp_path / f"{width}.txt").write_text("".join(f"{w}{numbers}\n" for w in words))
        return str(tmp_path / f"{width}.txt")

    short = {"ae_steps": 2, "epochs": 2, "steps": 2, "ae_layers": (20,), "guard": False}
    given = {"encoder": "tfidf"} if method == "deccrl" else {}  # adsl has its own
    made = METHODS[method].make(3, word_vectors=file(8), random_state=0, **given)
    made.set_params(**{name: value for name, value in short.items() if hasattr(made, name)})
    assert WIDTH[method](made.fit(topics[0])) == 8


@pytest.mark.parametrize(
    ("model", "sizes", "wanted"),
    [
        (AECL(2), (1050, 150), 0.09),
        (AECL(2), (600, 600), 10),
        (AECL(2, balance_weight=0.5), (600, 600), 0.5),
        (RSTC(2), (1050, 150), 0.001),
        (RSTC(2), (600, 600), 0.1),
    ],
)
def test_the_balance_follows_classes_where_the_sizes_of_kmeans_are_flat(
    model: Any, sizes: tuple[int, int], wanted: float
) -> None:
    """Two wide groups side by side on the sphere: of 7 to 1, k-means makes 2 to 1."""
    model = clone(model).set_params(device="cpu")
    centers = np.eye(2, 12)[np.repeat([0, 1], sizes)]
    x = centers + 0.6 * np.random.default_rng(0).normal(size=(1200, 12))
    vectors = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    start = model._initial_assigner(vectors, np.ones(1200, np.float32), 0)
    found = np.bincount(start.logits(vectors).argmax(axis=1))
    assert found.max() / found.min() < 3  # by which all would be even
    model._training_stages(TrainingContext(1200, 1, 0))
    assert model.balance_ == wanted
