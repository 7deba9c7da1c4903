"""Values that an argument cannot take: refused by its name, before the work begins."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coterie
from coterie.errors import UsageError
from said import raises

TEXTS = ["red apple", "ripe apple", "fast car", "old car", "loud song", "new song"]
LABELS = [0, 0, 1, 1, 2, 2]
VECTORS = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"n_init": 0}, "an integer of at least 1 and at most"),
        ({"n_init": 10**13}, "at most 1,000,000,000,000"),
        ({"n_init": True}, "an integer"),
        ({"n_init": 2.5}, "got 2.5"),
        ({"cluster": "kmean"}, "Did you mean 'kmeans'?"),
        ({"device": 3}, "a text"),
        ({"random_state": [1]}, "an integer"),
        ({"ae_layers": [5, 0]}, "a list"),
        ({"ae_layers": []}, "a list"),
        ({"ae_dropout": 1}, "below 1"),
        ({"ae_dropout": math.nan}, "a number"),
    ],
)
def test_a_parameter_of_an_estimator_is_what_its_annotation_says(wrong: dict, says: str) -> None:
    (name,) = wrong
    made = coterie.DEC if name.startswith("ae_") else coterie.TwoStep
    with raises(UsageError, f"`{name}` should be", says):
        made(2, encoder="tfidf", **wrong).fit(TEXTS)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"levels": [2, "x"]}, "an integer"),
        ({"levels": {"a": 1}}, "a list"),
        ({"n_clusters": 2.5}, "'auto'"),
        ({"only_known": "perhaps"}, "boolean"),
        ({"text_column": 5}, "string"),
        ({"labels": object()}, "label for each"),
        ({"folder": 5}, "a path"),
        ({"effort": "bes"}, "Did you mean 'best'?"),
    ],
)
def test_an_option_of_a_run_is_what_the_model_says(wrong: dict, says: str) -> None:
    (name,) = wrong
    with raises(UsageError, f"`{name}` should be", says):
        coterie.cluster(TEXTS, **{"n_clusters": 2, "encoder": "tfidf", **wrong})


NOT_NUMBERS = (3, None, "abc", ["1"], [[1, 2], [3]], {}, [1, "a"])
CALLS: dict[str, tuple[str, Callable[[Any], Any], tuple[Any, ...]]] = {
    "Run": ("folder", coterie.Run, (3, 2.5, None)),
    "mark_outliers": ("scores", lambda v: coterie.mark_outliers(v, "5%"), NOT_NUMBERS),
}


@pytest.mark.parametrize("call", CALLS)
def test_values_that_are_almost_right_are_refused_by_name(call: str) -> None:
    name, function, wrong = CALLS[call]
    for value in wrong:
        with raises(UsageError, f"{name}` should be"):
            function(value)


def test_labels_and_scores_have_one_length() -> None:
    with raises(UsageError, "labels; give one label for each", "scores", "6", "2"):
        coterie.mark_outliers(np.ones(6), "5%", [0, 0])
    with raises(UsageError, "labels; give one label for each", "vectors", "6", "2"):
        coterie.outlier_scores(VECTORS, [0, 0])


def test_a_path_does_not_begin_in_a_home_that_only_arrow_would_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls: dict[str, Callable[[str], Any]] = {
        "folder": lambda path: coterie.cluster(TEXTS, 2, encoder="tfidf", folder=path),
        "data": lambda path: coterie.cluster(path, 2, encoder="tfidf"),
    }
    for name, call in calls.items():
        with raises(UsageError, name, "'~/home'", "whole path"):
            call("~/home")
    assert not any(tmp_path.iterdir())
