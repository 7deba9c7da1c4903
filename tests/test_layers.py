"""Imports point down, and only down."""

import ast
from pathlib import Path

import pytest

import coterie

ROOT = Path(coterie.__file__).parent
LAYERS = {
    "_cache": 0, "_errors": 0, "_facts": 0, "_files": 0, "_progress": 0, "_random": 0, "_ranks": 0,
    "_emoji": 0, "_seen": 0, "_folders": 0, "_runs": 0, "_threads": 0, "_trust": 0,
    "_types": 0,
    "_validation": 0, "masking": 0, "messages": 0, "neighbors": 0, "blocks": 1, "metrics": 1,
    "corpus": 2, "encoders": 2,
    "augmentation": 2, "outliers": 2,
    "datasets": 2, "words": 2, "engine": 3, "base": 4, "masked_words": 4, "methods": 5,
    "description": 5,
    "choose": 5, "hierarchy": 5, "run_files": 5, "report": 6, "naming": 6, "comparison": 6,
    "editing": 6, "analysis": 6, "bench": 6,
    "exports": 6, "checking": 6, "runs": 7, "cli": 8,
}  # fmt: skip
# Between neighbours of one layer these arrows are meant, and no others.
MEANT = {("augmentation", "corpus"), ("augmentation", "encoders"), ("augmentation", "words"),
         ("datasets", "corpus"), ("encoders", "words"),
         ("comparison", "report"), ("editing", "comparison"), ("editing", "report"),
         ("editing", "exports"),
         ("bench", "analysis"), ("hierarchy", "description"), ("run_files", "description"),
         ("run_files", "hierarchy"), ("exports", "report"),
         ("checking", "editing"), ("checking", "report")}  # fmt: skip
FREE = {"__init__", "__main__"}
FILES = sorted(ROOT.rglob("*.py"))


def unit(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(path: Path) -> set[tuple[str, str]]:
    """Pairs of (unit, whole module) of our own that a file imports, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "coterie":
                names = [f"coterie.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {(n.split(".")[1], n) for n in names if n.startswith("coterie.")}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    own = unit(path)
    if own in FREE:
        return
    for other, module in imported(path):
        if other == own and path.parent != ROOT:
            if own in ("blocks", "methods"):
                free = path.stem == "__init__" or module == f"coterie.{own}"
                family = path.parent.name == "baselines" and ".baselines." in module
                assert free or family, f"{path.name} imports its neighbour"
            continue
        down = LAYERS[other] < LAYERS[own] or (LAYERS[own] == 0 == LAYERS[other])
        assert down or (own, other) in MEANT, f"{own} imports {module}"


def test_every_unit_has_a_layer() -> None:
    assert {unit(path) for path in FILES} - FREE == LAYERS.keys()
