"""The bill of materials and the list of licences name what is really needed."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "supply_chain.py"
if not SCRIPT.exists():
    pytest.skip("needs the checkout", allow_module_level=True)
CHAIN = runpy.run_path(str(SCRIPT))


def direct() -> set[str]:
    lines = (ROOT / "pyproject.toml").read_text("utf-8").split("\ndependencies = [")[1]
    names = re.findall(r'^    "([A-Za-z0-9-]+)', lines.split("\n]")[0], re.MULTILINE)
    return {CHAIN["normal"](name) for name in names}


def test_the_bill_holds_what_is_needed_and_how_it_hangs_together() -> None:
    bill = json.loads(json.dumps(CHAIN["sbom"](set())))
    names = {part["name"] for part in bill["components"]}
    assert direct() <= names and "tokenizers" in names  # which transformers brings
    assert "pytest" not in names
    known = {part["bom-ref"] for part in [bill["metadata"]["component"], *bill["components"]]}
    for row in bill["dependencies"]:
        assert row["ref"] in known and set(row["dependsOn"]) <= known
    assert all(re.fullmatch(r"[0-9a-f]{64}", p["hashes"][0]["content"]) for p in bill["components"])


def test_every_licence_is_known_and_listed() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| (\S+) \| (.+) \|$", CHAIN["licences"](set()), re.MULTILINE)
    known = {name: said for name, _, said in rows}
    assert direct() <= known.keys()
    assert not [name for name, said in known.items() if said == "not said"]
    listed = (ROOT / "docs" / "licences.md").read_text("utf-8")
    assert {name for name in known if f"| {name} |" not in listed} == set()
