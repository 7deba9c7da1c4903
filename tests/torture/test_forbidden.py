"""No file of the package calls what could run data as code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import coterie

ROOT = Path(coterie.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle", "jsonpickle"}
CALLS = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "torch.load", "torch.save",
    "yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load", "tempfile.mktemp",
    "pandas.read_pickle", "pd.read_pickle", "shutil.unpack_archive", "torch.hub.load",
}  # fmt: skip
METHODS = {"extractall", "load_module", "exec_module"}
HARMLESS = {"joblib.cpu_count"}
FLAGS = {"shell": True, "allow_pickle": True, "trust_remote_code": True, "weights_only": False}


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def faults(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            found += {f"{node.module}.{a.name}" for a in node.names} - HARMLESS
        elif isinstance(node, ast.Call):
            called = name_of(node.func)
            if called in CALLS or called.rpartition(".")[2] in METHODS:
                found.append(called)
            for keyword in node.keywords:
                value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if FLAGS.get(keyword.arg, "no such flag") is value:
                    found.append(f"{called}({keyword.arg}={value})")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_runs_data(path: Path) -> None:
    assert faults(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle", "from joblib import cpu_count, load", "import joblib",
        "eval('1')", "torch.load(f)",
        "torch.load(f, weights_only=True)", "np.load(f, allow_pickle=True)", "yaml.load(f)",
        "subprocess.run('ls', shell=True)", "os.system('ls')", "archive.extractall(folder)",
        "SentenceTransformer(f, trust_remote_code=True)", "import torch\ntorch.save(1, f)",
    ],
)  # fmt: skip
def test_each_would_be_found(code: str) -> None:
    assert faults(code)


def test_what_is_harmless_is_not_found() -> None:
    assert not faults("np.load(f, allow_pickle=False)\nyaml.safe_load(f)\nsubprocess.run(['ls'])")
    assert not faults("from joblib import cpu_count")
