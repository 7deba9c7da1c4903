"""Imports point down: between packages by layer, and between modules without a circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import coterie

ROOT = Path(coterie.__file__).parent
GUIDE = ROOT.parents[1] / "CONTRIBUTING.md"
if not GUIDE.exists():
    pytest.skip("CONTRIBUTING.md is not in an installed package", allow_module_level=True)
UNITS = {path.stem for path in ROOT.iterdir() if path.suffix in ("", ".py")}
# Every unit (a package, or a module beside the packages) may import those in rows above its own.
LAYERS = [
    set(re.findall(r"`(\w+)(?:/|\.py)?`", row)) & UNITS
    for row in re.findall(r"^\| \d+ \| (.*) \| [^|]* \|$", GUIDE.read_text("utf-8"), re.M)
]
# Within a layer these arrows are meant, and no others.
MEANT = {
    ("augmentation", "corpus"),
    ("augmentation", "encoders"),
    ("augmentation", "words"),
    ("encoders", "words"),
    ("guidance", "corpus"),
    ("guided", "consensus"),
    ("drift", "description"),
    ("hierarchy", "description"),
    ("tree", "choose"),
    ("tree", "description"),
    ("tree", "hierarchy"),
    ("run_files", "description"),
    ("run_files", "hierarchy"),
    ("run_files", "tree"),
    ("measured", "run_files"),
    ("run_history", "run_files"),
    ("summary", "description"),
    ("overview", "description"),
    ("overview", "drift"),
    ("overview", "hierarchy"),
    ("summary", "hierarchy"),
    ("summary", "overview"),
    ("report", "description"),
    ("report", "drift"),
    ("report", "hierarchy"),
    ("report", "measured"),
    ("report", "run_files"),
    ("report", "overview"),
    ("report", "summary"),
    ("report", "tree"),
    ("checking", "editing"),
    ("comparison", "clustering"),
    ("editing", "comparison"),
    ("editing", "clustering"),
    ("clustering", "exports"),
    ("start", "runs"),
}
ENTRY = {"__init__", "__main__"}  # of the package: these may import everything
FILES = [
    path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT or path.stem not in ENTRY
]


def name_of(path: Path) -> str:
    """The module in a file, such as ``coterie.base.core``; a package is its ``__init__``."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


@dataclass(frozen=True)
class Imported:
    """A module of our own that a file imports."""

    module: str
    line: int
    for_types: bool  # only under TYPE_CHECKING


def resolve(module: str, names: list[str]) -> Iterator[str]:
    """Modules that ``from module import names`` reaches, through public names of the package."""
    for name in names:
        if f"{module}.{name}" in MODULES:
            yield f"{module}.{name}"
        elif module != "coterie":
            yield module
        elif name != "__version__":
            yield coterie._PUBLIC[name]


def find_imports(source: str, own: str = "coterie.base.core") -> list[Imported]:
    """All imports of our own modules, at any depth and in any form."""
    tree = ast.parse(source)
    for_types = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    found = []
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:  # relative: from the package that the module is in
                base = ".".join([*own.split(".")[: -node.level], *([base] if base else [])])
            if base.split(".")[0] == "coterie":
                modules = list(resolve(base, [alias.name for alias in node.names]))
        elif isinstance(node, ast.Import):
            modules = [a.name for a in node.names if a.name.split(".")[0] == "coterie"]
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
            modules = [t.rstrip(".") for t in texts if isinstance(t, str) and "coterie" in t]
        found += [Imported(m, getattr(node, "lineno", 0), id(node) in for_types) for m in modules]
    return found


def unit(module: str) -> str:
    return module.split(".")[1]


def layer(module: str) -> int:
    return next(i for i, units in enumerate(LAYERS) if unit(module) in units)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    for imported in find_imports(MODULES[module].read_text("utf-8"), module):
        where = f"{MODULES[module].relative_to(ROOT)}, line {imported.line}"
        assert imported.module != "coterie", f"{where}: import a module, not the whole package"
        if unit(imported.module) == unit(module):
            if unit(module) in ("blocks", "methods"):
                free = {module, f"coterie.{unit(module)}"}
                family = ".baselines." in module and ".baselines" in imported.module
                init = MODULES[module].stem == "__init__"
                assert init or family or imported.module in free, f"{where}: a neighbour"
            continue
        down = layer(imported.module) < layer(module) or layer(module) == 0
        meant = (unit(module), unit(imported.module)) in MEANT
        assert down or meant, f"{where}: {imported.module} is not below"


def test_every_unit_has_a_layer() -> None:
    assert {unit(module) for module in MODULES} == set().union(*LAYERS)


def test_no_imports_go_in_a_circle() -> None:
    """Not even imports inside functions; those for types alone are left out."""
    arrows = {
        module: {
            i.module
            for i in find_imports(path.read_text("utf-8"), module)
            if not i.for_types and i.module != module
        }
        for module, path in MODULES.items()
    }
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join([*way[way.index(module) :], module])
        if module not in done:
            for other in sorted(arrows[module]):
                visit(other, (*way, module))
            done.add(module)

    for module in arrows:
        visit(module, ())
