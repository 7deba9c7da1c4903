"""The house rules that tools cannot check."""

import ast
import re
from pathlib import Path

import coterie

ROOT = Path(coterie.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def calls(path: Path) -> list[str]:
    """Names of all functions and methods that a file calls."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in nodes]


def test_there_is_one_backward() -> None:
    found = [path.name for path in FILES for name in calls(path) if name == "backward"]
    assert found == ["loop.py"]


def test_the_library_does_not_print() -> None:
    for path in FILES:
        assert not re.search(r"(?<![.\w])print\(", path.read_text("utf-8")), path


def test_public_functions_and_classes_have_docstrings() -> None:
    for path in FILES:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"
