"""Every public function and method, every parameter, with values that it cannot take.

The functions and their parameters are found by walking the package, so that a new one is tried as
soon as it is public. One that needs arguments has its own in ``FITTING``, by name or by function.
"""

from __future__ import annotations

import inspect
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coterie
from coterie import runs
from coterie.describe.hierarchy import describe_levels, nest
from coterie.errors import CoterieError, UsageError
from coterie.runs.editing import undo
from coterie.texts import TextStream
from endpoint_server import EndpointServer
from said import raises

TEXTS = ["red apple", "ripe apple", "fast car", "old car", "loud song", "new song"]
LABELS = [0, 0, 1, 1, 2, 2]
VECTORS = np.arange(12.0).reshape(6, 2)
# What takes the options that a function hands on.
HANDED_ON: dict[str, Callable[..., Any]] = {
    "read_corpus": TextStream,
    "Run.update": runs.update,
}
# Of these, what the function gives itself.
OWN = {"run", "source"}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "undo": undo,
    "nest": nest,
    "describe_levels": describe_levels,
    "TwoStep.load": coterie.TwoStep.load,
    **{name: getattr(runs, name) for name in ("update", "stability")},
    **{
        name: getattr(coterie, name)
        for name in coterie.__all__
        if inspect.isfunction(getattr(coterie, name))
    },
    **{
        f"Run.{name}": method
        for name, method in inspect.getmembers(coterie.Run, inspect.isfunction)
        if not name.startswith("_")
    },
}


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """Those of a function, and those that it hands on."""
    found = dict(inspect.signature(FUNCTIONS[name]).parameters)
    found.pop("self", None)
    open_end = [p for p, about in found.items() if about.kind is about.VAR_KEYWORD]
    for end in open_end:
        del found[end]
        inner = HANDED_ON.get(name, HANDED_ON.get(name.rpartition(".")[2]))
        more = {} if inner is None else dict(inspect.signature(inner).parameters)
        found |= {p: about for p, about in more.items() if p not in OWN | found.keys()}
    return {p: about for p, about in found.items() if about.kind is not about.VAR_KEYWORD}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server that knows nothing."""
    with EndpointServer() as server:
        yield server.url


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return coterie.cluster(
        TEXTS, 3, "kmeans", encoder="tfidf", folder=tmp_path_factory.mktemp("wrong") / "run"
    ).folder


@pytest.fixture
def fitting(finished: Path, tmp_path: Path, address: str, monkeypatch) -> dict[str, Any]:
    """Values that fit, by the name of a parameter, or of a function and its parameter."""
    monkeypatch.chdir(tmp_path)
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    model = coterie.load(run)
    Path("t.csv").write_text("text\nred apple\nold car\n")
    return {
        "texts": TEXTS, "data": TEXTS, "X": TEXTS, "labels": LABELS, "vectors": VECTORS,
        "levels": [2], "scores": np.ones(6), "max_outliers": "5%",
        "clusters": coterie.open_run(run).clusters,
        "endpoint": address, "url": address, "model": model, "folder": run, "run": run,
        "target": run, "edits": [{"delete": [0]}], "name": "kmeans", "source": "t.csv",
        "a": run, "b": run, "other": run, "chunks": [], "n": 5, "to": "jsonl", "seeds": 1,
        "cluster.method": "kmeans", "cluster.n_clusters": 3,
        "cluster.encoder": "tfidf", "save.folder": tmp_path / "new",
        "export_run.out": tmp_path / "new", "export.out": tmp_path / "new",
        "choose_n_clusters.encoder": "tfidf",
        "describe_levels.levels": nest(VECTORS, LABELS, levels=[2]),
        "Run.column.name": "text", "cut.clusters": 2,
        "compare_clusters.a": 0, "compare_clusters.b": 1,
    }  # fmt: skip


GIVEN = {
    "cluster": ("method", "n_clusters", "encoder"),
    "choose_n_clusters": ("encoder",),
}
VALUES: dict[str, Callable[[Path], Any]] = {
    "object": lambda place: object(),
    "number": lambda place: 5,
    "word": lambda place: "x",
    "half a character": lambda place: "\ud800",
    "zero byte": lambda place: "a\0b",
    "nothing": lambda place: "",
    "not a number": lambda place: math.nan,
    "huge": lambda place: 10**30,
    "long": lambda place: "x" * 5000,
    "folder": lambda place: place / "run",
    "file": lambda place: place / "run" / "manifest.json",
    "list": lambda place: [5],
    "mapping": lambda place: {"x": 5},
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_value_of_another_kind_is_refused_by_name(name, fitting, finished, tmp_path) -> None:
    found, short = parameters(name), name.rpartition(".")[2]

    def fits(parameter: str) -> Any:
        for key in (f"{name}.{parameter}", f"{short}.{parameter}", parameter):
            if key in fitting:
                return fitting[key]
        raise AssertionError(f"{name}: FITTING needs a value for {parameter}")

    usual = [p for p, about in found.items() if about.default is about.empty]
    usual += [p for p in GIVEN.get(short, ()) if p not in usual]
    wrong: list[str] = []
    for parameter in found:
        shutil.rmtree(tmp_path / "run")  # a value that fits may have changed it
        shutil.copytree(finished, tmp_path / "run")
        for kind, value in VALUES.items():
            given = {p: fits(p) for p in usual if p != parameter}
            owner = [coterie.Run(tmp_path / "run")] if name.startswith("Run.") else []
            fault = tried(FUNCTIONS[name], owner, given, found[parameter], value(tmp_path))
            wrong += [f"{parameter}: {kind}: {fault}"] if fault else []
    assert not wrong, "\n".join(wrong)


def tried(function, owner: list, given: dict, about: inspect.Parameter, value: object) -> str:
    """What is wrong with how a function takes a value; it may do so if the value fits."""
    unchecked = about.annotation in ("Any", "Number")  # by kind
    try:
        function(*owner, **given, **{about.name: value})
    except CoterieError as error:
        name = "random_state|seed" if about.name in ("random_state", "seed") else about.name
        named = re.search(rf"\b({name})\b", str(error)) or unchecked
        return "" if named or type(value) is not object else f"refused without its name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.100}"
    return "taken" if type(value) is object and not unchecked else ""


NOT_NUMBERS = (3, None, "abc", ["1"], [[1, 2], [3]], {}, [1, "a"])
CALLS: dict[str, tuple[str, Callable[[Any], Any], tuple[Any, ...]]] = {
    "Run": ("folder", coterie.Run, (3, 2.5, None)),
    "nest": ("vectors", lambda v: nest(v, LABELS, levels=[2]), NOT_NUMBERS),
    "nest labels": ("labels", lambda v: nest(VECTORS, v, levels=[2]), (["a"], [0.5], [[0]])),
    "mark_outliers": ("scores", lambda v: coterie.mark_outliers(v, "5%"), NOT_NUMBERS),
    "describe_levels": ("levels", lambda v: describe_levels(TEXTS, v), (["x"], [2, 3])),
    "describe": ("texts", lambda v: coterie.describe_clusters(v, [0]), ("one text",)),
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


def test_numbers_of_a_table_are_numbers() -> None:
    """Nullable columns come as arrays of objects."""
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(LABELS, dtype="Int64")
    (level,) = nest(VECTORS, column, levels=[2])
    assert level.labels.tolist() == nest(VECTORS, LABELS, levels=[2])[0].labels.tolist()


def test_a_path_does_not_begin_in_a_home_that_only_arrow_would_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = coterie.cluster(TEXTS, 2, method="kmeans", encoder="tfidf")
    calls: dict[str, Callable[[str], Any]] = {
        "folder": lambda path: coterie.cluster(TEXTS, 2, encoder="tfidf", folder=path),
        "data": lambda path: coterie.cluster(path, 2, encoder="tfidf"),
        "path": run.report,
    }
    for name, call in calls.items():
        with raises(UsageError, name, "'~/home'", "whole path"):
            call("~/home")
    assert not any(tmp_path.iterdir())
