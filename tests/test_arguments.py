"""Public functions that are given something else than they take say what they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import coterie
from coterie.editing import undo
from coterie.errors import UsageError
from coterie.hierarchy import describe_levels, nest
from said import raises

PATHS: dict[str, Callable[[Any], Any]] = {
    "load": coterie.load,
    "open_run": coterie.open_run,
    "Run": coterie.Run,
    "TwoStep.load": coterie.TwoStep.load,
    "edit": lambda value: coterie.edit(value, [{"lock": [0]}]),
    "undo": undo,
    "export_run": lambda value: coterie.export_run(value, ["tsv"]),
}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("value", [3, 2.5, None])
def test_a_number_is_no_path(name: str, value: object) -> None:
    with raises(UsageError, "should be a path", str(repr(value))):
        PATHS[name](value)


def test_describe_takes_texts_and_labels() -> None:
    for texts in (3, None, "one text"):
        with raises(UsageError, "should be", "texts", str(repr(texts))):
            coterie.describe(texts, [0])  # type: ignore[arg-type]
    for labels in (3, None, ["a"], [[0]]):
        with raises(UsageError, "should be", "labels", str(repr(labels))):
            coterie.describe(["a text"], labels)  # type: ignore[arg-type]


VECTORS = np.arange(12.0).reshape(6, 2)
LABELS = [0, 0, 1, 1, 2, 2]
TEXTS = ["red apple", "ripe apple", "fast car", "old car", "loud song", "new song"]
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def model() -> coterie.TextClusterer:
    return coterie.make_method("kmeans", 3, encoder="tfidf", random_state=0).fit(TEXTS)


def named(**given: Any) -> Any:
    clusters = coterie.describe(TEXTS, LABELS)
    return coterie.name_clusters(
        **{"clusters": clusters, "endpoint": NOWHERE, "model": "m", **given}
    )


NOT_NUMBERS = (3, None, "abc", ["1"], [[1, 2], [3]], {}, [1, "a"])
CALLS: dict[str, tuple[str, Callable[[Any], Any], tuple[Any, ...]]] = {
    "nest texts": ("vectors", lambda v: nest(v, LABELS, levels=[2]), NOT_NUMBERS),
    "nest means": ("vectors", lambda v: nest(v, sizes=[1], levels=[1]), NOT_NUMBERS),
    "nest labels": ("labels", lambda v: nest(VECTORS, v, levels=[2]), (3, ["a"], [0.5])),
    "nest sizes": ("sizes", lambda v: nest(VECTORS, sizes=v, levels=[2]), (3, ["a"])),
    "nest levels": ("levels", lambda v: nest(VECTORS, LABELS, levels=v), NOT_NUMBERS),
    "describe_levels": (
        "levels",
        lambda v: describe_levels(TEXTS, v),
        (3, None, ["x"], [2, 3]),
    ),
    "describe": ("vectors", lambda v: coterie.describe(TEXTS, LABELS, v), (3, "abc", [1, 2])),
    "outlier_scores": ("vectors", coterie.outlier_scores, NOT_NUMBERS),
    "outlier_scores labels": (
        "labels",
        lambda v: coterie.outlier_scores(VECTORS, v),
        (3, ["a"], [[0]]),
    ),
    "mark_outliers": ("scores", lambda v: coterie.mark_outliers(v, "5%"), NOT_NUMBERS),
    "mark_outliers labels": (
        "labels",
        lambda v: coterie.mark_outliers(np.ones(6), "5%", v),
        (3, ["a"], [[0]]),
    ),
    "broad_themes": ("model", lambda v: coterie.broad_themes(v, TEXTS), (3, None, "sccl", TEXTS)),
    "name_clusters": ("clusters", lambda v: named(clusters=v), (3, None, "abc", [1], TEXTS)),
    "name_clusters endpoint": ("endpoint", lambda v: named(endpoint=v), (3, None, [NOWHERE])),
    "name_clusters model": ("model", lambda v: named(model=v), (3, ["m"], VECTORS)),
    "name_clusters texts": ("texts", lambda v: named(texts=v), (3, None, [3])),
    "name_clusters prompt": ("prompt", lambda v: named(prompt=v), (3, VECTORS)),
    "name_clusters language": ("language", lambda v: named(language=v), (3, VECTORS)),
    "name_clusters budget": ("budget", lambda v: named(budget=v), (3, "1000")),
    "name_clusters parts": ("parts", lambda v: named(parts=v), (3, ["a"])),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_wrong_kind_of_argument_is_named(call: str) -> None:
    name, function, wrong = CALLS[call]
    for value in wrong:
        with raises(UsageError, "should be", str(name)):
            function(value)


def test_the_number_of_themes_is_a_whole_number(model: coterie.TextClusterer) -> None:
    with raises(UsageError, "should be an integer of", "n_themes"):
        coterie.broad_themes(model, TEXTS, n_themes=0)


def test_labels_and_scores_have_one_length() -> None:
    with raises(UsageError, "labels; give one label for each", "scores", "6", "2"):
        coterie.mark_outliers(np.ones(6), "5%", [0, 0])
    with raises(UsageError, "labels; give one label for each", "vectors", "6", "2"):
        coterie.outlier_scores(VECTORS, [0, 0])


def test_numbers_of_a_table_are_numbers() -> None:
    """Nullable columns come as arrays of objects."""
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(LABELS, dtype="Int64")
    (level,) = nest(VECTORS, column, levels=[2])
    assert level.labels.tolist() == nest(VECTORS, LABELS, levels=[2])[0].labels.tolist()
