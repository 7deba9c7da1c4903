"""Public functions that are given something else than they take say what they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import coterie
from coterie.errors import UsageError
from coterie.hierarchy import describe_levels, nest
from said import raises

VECTORS = np.arange(12.0).reshape(6, 2)
LABELS = [0, 0, 1, 1, 2, 2]
TEXTS = ["red apple", "ripe apple", "fast car", "old car", "loud song", "new song"]
NOT_NUMBERS = (3, None, "abc", ["1"], [[1, 2], [3]], {}, [1, "a"])


@pytest.fixture(scope="module")
def model() -> coterie.TextClusterer:
    return coterie.make_method("kmeans", 3, encoder="tfidf", random_state=0).fit(TEXTS)


CALLS: dict[str, tuple[str, Callable[[Any], Any], tuple[Any, ...]]] = {
    "Run": ("folder", coterie.Run, (3, 2.5, None)),
    "nest": ("vectors", lambda v: nest(v, LABELS, levels=[2]), NOT_NUMBERS),
    "nest labels": ("labels", lambda v: nest(VECTORS, v, levels=[2]), (["a"], [0.5], [[0]])),
    "mark_outliers": ("scores", lambda v: coterie.mark_outliers(v, "5%"), NOT_NUMBERS),
    "describe_levels": ("levels", lambda v: describe_levels(TEXTS, v), (["x"], [2, 3])),
    "describe": ("texts", lambda v: coterie.describe(v, [0]), ("one text",)),
}


@pytest.mark.parametrize("call", CALLS)
def test_values_that_are_almost_right_are_refused_by_name(call: str) -> None:
    name, function, wrong = CALLS[call]
    for value in wrong:
        with raises(UsageError, f"{name}` should be"):
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
