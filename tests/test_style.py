"""The house rules that tools cannot check."""

import ast
import re
from pathlib import Path

import pytest

import coterie

ROOT = Path(coterie.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_are_short(path: Path) -> None:
    source = path.read_text("utf-8")
    assert source.count("\n") <= 300
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert length <= 40, f"{node.name} has {length} lines"


def calls(path: Path) -> list[str]:
    """Names of all functions and methods that a file calls."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in nodes]


def test_there_is_one_backward() -> None:
    found = [path.name for path in FILES for name in calls(path) if name == "backward"]
    assert found == ["loop.py"]


def test_nothing_is_pickled_or_trusted() -> None:
    forbidden = re.compile(
        r"\bimport (pickle|joblib|dill|marshal|shelve)|torch\.(load|save)\(|allow_pickle=True"
        r"|trust_remote_code=True|(?<![.\w])(eval|exec)\("
    )
    for path in FILES:
        assert not forbidden.search(path.read_text("utf-8")), path


def test_the_library_does_not_print() -> None:
    for path in FILES:
        assert not re.search(r"(?<![.\w])print\(", path.read_text("utf-8")), path


def test_public_functions_and_classes_have_docstrings() -> None:
    for path in FILES:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"
