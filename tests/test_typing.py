"""What type checkers and editors see of the package."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import coterie
from coterie.options import ClusterOptions

NAMES = [name for name in coterie.__all__ if name != "__version__"]
WRONG = {
    'coterie.cluster(["a"], 2, n_init=3)': "call-arg",
    'coterie.cluster(["a"], levels="many")': "arg-type",
    'coterie.Run("x").update([], dry=True)': "call-arg",
    'coterie.SCCL.from_preset("paper", stepz=3)': "call-arg",
    'coterie.Auto(2, effot="best")': "call-arg",
    "coterie.nothing": "attr-defined",
}


@pytest.mark.full
def test_public_names_have_types(tmp_path: Path) -> None:
    lines = ["import coterie", *(f"reveal_type(coterie.{name})" for name in NAMES), *WRONG]
    file = tmp_path / "use.py"
    file.write_text("\n".join(lines))
    root = Path(coterie.__file__).parents[2]  # its settings, and what mypy knows already
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(file)],
        cwd=root,
        env={**os.environ, "MYPYPATH": "src"},
        capture_output=True,
        text=True,
        check=False,
    )
    said: dict[int, list[str]] = {}
    for number, rest in re.findall(r"use\.py:(\d+): (.*)", done.stdout):
        said.setdefault(int(number), []).append(rest)
    for number, name in enumerate(NAMES, 2):
        revealed = " ".join(said.pop(number))
        missing = (
            f"{name} has no type: import it in methods/__init__.py or __init__.pyi ({revealed})"
        )
        assert "Revealed type" in revealed and '"Any"' not in revealed, missing
        assert not re.search(r"\*\w+: Any", revealed), name
    for number, (use, code) in enumerate(WRONG.items(), len(NAMES) + 2):
        assert f"[{code}]" in said.pop(number)[0], use
    assert not said


def functions() -> list[object]:
    """The public functions, and the public methods of public classes."""
    out = []
    for public in (getattr(coterie, name) for name in NAMES):
        members = vars(public).values() if inspect.isclass(public) else [public]
        out += [getattr(m, "__func__", m) for m in members]
    public = coterie.TextClusterer
    out += [m for n, m in inspect.getmembers(public, inspect.isroutine) if n[0] != "_"]
    ours = [f for f in out if inspect.isfunction(f) and f.__module__.startswith("coterie")]
    return [f for f in ours if not f.__name__.startswith("_")]


def test_no_public_signature_takes_just_anything() -> None:
    for function in functions():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                assert parameter.annotation not in ("Any", parameter.empty), function


def test_cluster_has_the_options_of_the_model() -> None:
    shown = inspect.signature(coterie.cluster).parameters
    assert list(shown)[:3] == ["data", "n_clusters", "method"]
    known = {name: field.default for name, field in ClusterOptions.model_fields.items()}
    known["settings"] = None
    assert {name: p.default for name, p in shown.items() if name != "data"} == known
    assert all(
        re.search(rf"^    .*\b{name}\b.* : ", coterie.cluster.__doc__, re.M) for name in shown
    )
