"""Every file, command, option, function and link that pages and docstrings name exists."""

from __future__ import annotations

import ast
import importlib
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import coterie
from commands import commands

ROOT = Path(__file__).parents[2]
if not (ROOT / "locks").is_dir():
    pytest.skip("needs the checkout", allow_module_level=True)
OWN = ("src", "tests", "docs", "benchmarks", "results", "tools", "examples", "locks", ".github")
FILES = {p.name for p in ROOT.iterdir() if p.is_file()} | {
    p.relative_to(ROOT).as_posix()
    for folder in OWN
    for p in (ROOT / folder).rglob("*")
    if "__pycache__" not in p.parts
}
PAGES = sorted(p for p in ROOT.glob("*.md") if p.name != "CHANGELOG.md") + sorted(
    p for folder in ("docs", "results", "examples") for p in (ROOT / folder).rglob("*.md")
)
SETTINGS = [ROOT / "pyproject.toml", ROOT / "Makefile", *(ROOT / ".github").rglob("*.yml")]
PYTHON = sorted(
    p
    for folder in ("src", "benchmarks", "tools", "examples")
    for p in (ROOT / folder).rglob("*.py")
)
PLACEHOLDERS = {"name", "test_name", "NAME", "tables"}  # stems of files that the reader makes
OTHER_PROGRAMS = {  # options of pip, pip-audit, git, torchrun and ray, and one that all have
    "--constraint", "--disable-pip", "--entrypoint-resources", "--force-reinstall", "--head",
    "--help", "--no-deps", "--nproc-per-node", "--require-hashes", "--resources", "--strict",
    "--tags",
}  # fmt: skip
HOME = re.compile(r"https://github\.com/coterie-project/coterie/(?:blob|tree)/main/([^)#\s]*)")
NAMED = re.compile(r"(?<![\w./<>*{}-])(?:[\w.-]+/)*[\w-]+\.(?:py|md|ipynb|yml|cff)(?![\w*])")
INSIDE = re.compile(rf"(?<![\w./-])(?:{'|'.join(OWN)})/[\w./-]*[\w/](?![\w*{{<])")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PUBLIC = re.compile(r"(?<![\w./-])coterie(?:\.[A-Za-z]\w*)+(?![\w/-])")
ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):`[~!]?([\w.]+)`")


@cache
def words(path: Path) -> str:
    """What a file says: a page as it is, of a program its docstrings and comments."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return text
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    said = [ast.get_docstring(n) or "" for n in ast.walk(ast.parse(text)) if isinstance(n, kinds)]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join([*said, *(t.string for t in tokens if t.type == tokenize.COMMENT)])


@cache
def there(name: str) -> bool:
    """Whether a file or folder of the project has this path, or ends with it."""
    name = name.rstrip("/").removeprefix("../").removeprefix("../")
    return Path(name).stem in PLACEHOLDERS or any(
        file == name or file.endswith(f"/{name}") for file in FILES
    )


def missing(paths: Iterable[Path], look: Callable[[str], Iterable[str]]) -> list[str]:
    """What ``look`` finds wrong with the words of each file, behind the name of the file."""
    return [
        f"{path}: {wrong}"
        for path in paths
        for wrong in sorted(set(look(re.sub(r"https?://\S+", "", words(path)))))
    ]


def test_files_exist() -> None:
    def look(text: str) -> Iterator[str]:
        yield from (f for f in (*NAMED.findall(text), *INSIDE.findall(text)) if not there(f))
        for name, file in re.findall(r"`(\w+)`+ \(`+([\w/]+\.py)`", text):
            places = [ROOT / known for known in FILES if f"/{known}".endswith(f"/{file}")]
            if not any(re.search(rf"\b{name}\b", p.read_text("utf-8")) for p in places):
                yield f"{name} in {file}"

    assert missing([*PAGES, *SETTINGS, *PYTHON], look) == []
    lines = re.findall(r"`([\w-]+\.jsonl)`", (ROOT / "results" / "README.md").read_text("utf-8"))
    assert lines and [name for name in lines if not there(f"results/{name}")] == []


def anchors(page: Path) -> set[str]:
    """Places of a page that a link can lead to."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles]
    return {*plain, *re.findall(r"^\(([\w-]+)\)=$", page.read_text("utf-8"), re.MULTILINE)}


def test_links_lead_somewhere() -> None:
    wrong = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in LINK.findall(text):
            home = HOME.match(target)
            if not home and re.match(r"[a-z]+:", target):
                continue  # other sites
            path, _, place = (target[home.start(1) :] if home else target).partition("#")
            file = (ROOT if home else page.parent) / path if path else page
            if not file.exists() or (place and place not in anchors(file)):
                wrong.append(f"{page}: {target}")
    assert wrong == []


@cache
def options() -> set[str]:
    """Of all commands, of the programs beside the package, and of others that pages call."""
    beside = [p for name in ("benchmarks", "tools") for p in (ROOT / name).rglob("*.py")]
    texts = [p.read_text("utf-8") for p in [*beside, *ROOT.rglob("conftest.py")]]
    declared = {option for text in texts for option in re.findall(r'"(--[a-z-]+)"', text)}
    return set().union(*commands().values()) | declared | OTHER_PROGRAMS


def test_commands_and_options_exist() -> None:
    def look(text: str) -> Iterator[str]:
        quoted = re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)
        quoted += re.findall(r"`[^`\n]+`", text) + re.findall(r"^    +\S.*$", text, re.MULTILINE)
        said = "\n".join(quoted)
        found = re.findall(r"(?<![\w-])--[a-z][a-z-]+(?![\w-])", said)
        yield from (option for option in found if option not in options())
        verbs = re.findall(r"(?:^\$ |`|\| |^ *)(coterie [a-z]+)\b", said, re.MULTILINE)
        yield from (verb for verb in verbs if verb not in commands())

    assert missing([*PAGES, *PYTHON], look) == []


def test_make_targets_exist() -> None:
    made = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)

    def look(text: str) -> Iterator[str]:
        found = re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)
        yield from (target for target in found if target not in made)

    assert missing(PAGES, look) == []


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            if not hasattr(thing, attribute) and attribute not in getattr(
                thing, "__dataclass_fields__", {}
            ):
                return False
            thing = getattr(thing, attribute, None)
        return True
    return False


def test_functions_exist() -> None:
    def look(text: str) -> Iterator[str]:
        dotted = [*PUBLIC.findall(text), *(n for n in ROLE.findall(text) if "coterie." in n)]
        yield from (name for name in dotted if not resolves(name))
        for owner, attribute in re.findall(r"`([A-Z]\w+)\.(\w+)(?:\(\))?`", text):
            if hasattr(coterie, owner) and not resolves(f"coterie.{owner}.{attribute}"):
                yield f"{owner}.{attribute}"

    assert missing([*PAGES, *PYTHON], look) == []


@pytest.mark.parametrize(
    ("test", "line"),
    [
        (test_files_exist, "see `docs/no_such_page.md`"),
        (test_files_exist, "`no_such_thing` (`base/guard.py`)"),
        (test_links_lead_somewhere, "[page](no_such_page.md)"),
        (test_links_lead_somewhere, "[place](README.md#no-such-place)"),
        (test_commands_and_options_exist, "`coterie cluster FILE --no-such-option`"),
        (test_commands_and_options_exist, "`coterie nosuchverb FILE`"),
        (test_make_targets_exist, "`make no-such-target`"),
        (test_functions_exist, "`coterie.no_such_function`"),
        (test_functions_exist, "`Run.no_such_method`"),
    ],
)
def test_the_tests_can_fail(
    test: Callable[[], None], line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "page.md").write_text(line)
    (tmp_path / "README.md").write_text("# Place")
    monkeypatch.setitem(globals(), "PAGES", [tmp_path / "page.md"])
    monkeypatch.setitem(globals(), "PYTHON", [])
    with pytest.raises(AssertionError):
        test()
