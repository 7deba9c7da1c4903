"""``coterie serve``: what it says when it cannot start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from coterie.cli import app
from coterie.errors import UsageError
from coterie.serve.server import listen, name_runs
from said import raises, says


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["serve", *map(str, arguments)])


def test_runs_have_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b").mkdir()
    assert name_runs(["x/tickets", "mine=y/z"]) == {
        "tickets": Path("x/tickets"),
        "mine": Path("y/z"),
    }
    assert name_runs(["named=a=b"]) == {"named": Path("a=b")}
    with raises(UsageError, "is no name for a"):
        name_runs(["a=b"])  # a folder of that name
    with raises(UsageError, "name one, as in", "run"):
        name_runs(["a/run", "b/run"])
    for bad in ("x/two words", "x/a?b", "x/a%2fb"):
        with raises(UsageError, "is no name for a"):
            name_runs([bad])


def test_it_says_why_it_cannot_start(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder, code, said in (("none", 2, "there is no folder"), ("empty", 3, "holds no run")):
        found = call(tmp_path / folder)
        assert found.exit_code == code and says(found.output, said, folder)
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        busy = call(finished, "--port", taken.getsockname()[1])
    assert busy.exit_code == 2 and says(busy.output, "choose another with")
    strange = call(finished, "--host", "no such host")
    assert strange.exit_code == 2


@pytest.mark.parametrize("package", ["fastapi", "prometheus_client", "uvicorn"])
def test_without_the_extra_it_names_it(
    package: str, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    missing = call(finished)
    assert missing.exit_code == 1 and "coterie[serve]" in missing.output
