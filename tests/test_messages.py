"""Messages are in one file, and code asks for them by key with exactly their values."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import coterie
from by_key import raises, says
from coterie.errors import CoterieError, DataError, UsageError
from coterie.messages import MESSAGES, fields, fill, message

ROOT = Path(coterie.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Calls, classes and constants in a file."""
    found = ast.walk(ast.parse(path.read_text("utf-8")))
    return [node for node in found if isinstance(node, (ast.Call, ast.ClassDef, ast.Constant))]


@cache
def errors() -> set[str]:
    """Names of our errors."""
    classes = [
        (node.name, {getattr(base, "id", "") for base in node.bases})
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
    ]
    out = {"CoterieError"}
    for _ in range(3):  # as deep as our errors descend from one another
        out |= {name for name, bases in classes if bases & out}
    return out


def asked(path: Path) -> Iterator[tuple[ast.Call, str | None]]:
    """Calls that make an error or a message, each with its key if it is written out."""
    for node in nodes(path):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in errors() | {"message"}:
            first = node.args[0] if node.args else None
            yield node, first.value if isinstance(first, ast.Constant) else None


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_keys_exist_and_get_the_values_they_need(path: Path) -> None:
    for call, key in asked(path):
        if key in MESSAGES:
            given = {keyword.arg for keyword in call.keywords}
            assert None in given or given == fields(MESSAGES[key]), key
        else:
            raise AssertionError(f"line {call.lineno}: no key of coterie/messages.py")


def test_every_message_is_used() -> None:
    used = {
        node.value
        for path in FILES
        if path.name != "messages.py"
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert MESSAGES.keys() <= used


def test_an_error_knows_its_key_and_values() -> None:
    error = DataError("check.rows_differ", path="t.csv", rows=1200, said=3)
    assert error.key == "check.rows_differ" and error.values["rows"] == 1200
    assert str(error) == message("check.rows_differ", **error.values)
    again = copy.deepcopy(error)
    assert (again.key, again.values, str(again)) == (error.key, error.values, str(error))
    assert CoterieError("a text of its own {x}").key == ""


def test_parameters_are_written_as_the_reader_knows_them() -> None:
    error = UsageError("endpoint.timeout_too_long", timeout=99, most=5)
    assert "timeout=99" in str(error)
    assert "--timeout 99" in error.shown(lambda name, value: f"--{name} {value}")


def test_a_template_may_fix_the_value_of_a_parameter() -> None:
    template = "<device=>: none here; use <device='cpu'> or <steps>."
    assert fields(template) == {"device"}
    error = UsageError(fill(template, {"device": "cuda"}))
    assert str(error) == "device='cuda': none here; use device='cpu' or steps."
    assert error.shown(lambda name, value: f"--{name}") == (
        "--device: none here; use --device or --steps."
    )


def test_a_value_that_looks_like_a_template_is_left_alone() -> None:
    error = DataError("check.file_missing", path="<file=>{file}")
    assert "<file=>{file}" in str(error)


def test_the_helpers_of_tests_tell_keys_and_values_apart() -> None:
    error = UsageError("report.too_many_levels", asked=9, clusters=4)
    with raises(UsageError, "report.too_many_levels", asked=9):
        raise error
    for key, asked_for in (("report.bad_levels", 9), ("report.too_many_levels", 8)):
        with pytest.raises(AssertionError), raises(UsageError, key, asked=asked_for):
            raise error
    wrapped = str(error).replace(" ", "\n")
    assert says(wrapped, error.key, clusters=4) and not says(wrapped, error.key, clusters=5)
    assert not says(wrapped, "report.too_many_themes")


def test_one_thing_is_not_counted_as_many() -> None:
    with raises(DataError, "model.too_few_texts", distinct=1) as error:
        coterie.make_method("kmeans", 3, encoder="tfidf").fit(["a text", "a text"])
    assert "the 1 different text in 2 samples; ask for at most 1 cluster." in str(error.value)
    assert says("1 row written to x.csv", "predict.written", rows=1)
    assert not says("1 rows written to x.csv", "predict.written", rows=1)
