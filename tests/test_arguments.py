"""Public functions that are given something else than they take say what they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import coterie
from by_key import raises
from coterie._errors import UsageError
from coterie.editing import undo

PATHS: dict[str, Callable[[Any], Any]] = {
    "load": coterie.load,
    "open_run": coterie.open_run,
    "Run": coterie.Run,
    "TwoStep.load": coterie.TwoStep.load,
    "edit": lambda value: coterie.edit(value, [{"lock": [0]}]),
    "undo": undo,
    "export_run": lambda value: coterie.export_run(value, ["tsv"]),
    "read_corpus": coterie.read_corpus,
    "TextStream": lambda value: list(coterie.TextStream(value)),
}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("value", [3, 2.5, None])
def test_a_number_is_no_path(name: str, value: object) -> None:
    with raises(UsageError, "argument.not_a_path", given=repr(value)):
        PATHS[name](value)


def test_describe_takes_texts_and_labels() -> None:
    for texts in (3, None, "one text"):
        with raises(UsageError, "describe.not_texts", given=repr(texts)):
            coterie.describe(texts, [0])  # type: ignore[arg-type]
    for labels in (3, None, ["a"], [[0]]):
        with raises(UsageError, "describe.not_labels", given=repr(labels)):
            coterie.describe(["a text"], labels)  # type: ignore[arg-type]


def test_a_number_is_no_data_set() -> None:
    with raises(UsageError, "argument.not_a_choice", given="3"):
        coterie.load_dataset(3)  # type: ignore[arg-type]
