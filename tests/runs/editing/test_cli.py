"""``coterie edit`` as users meet it."""

import importlib
import json
from pathlib import Path

from commands import rows
from commands import run as call
from said import says

from .conftest import clusters, content


def test_edits_from_a_file_are_done_and_undone(run: Path, finished: Path, edit_file) -> None:
    file = edit_file("- merge: [0, 1]\n  name: Both\n- split: {cluster: 2, into: 2}\n")
    result = call("edit", run, file)
    assert "merged 1" in result.output and "split 2" in result.output and "--undo" in result.output
    assert clusters(run)[0] == "Both"
    back = call("edit", run, "--undo")
    assert "undone: change 1" in back.output
    assert content(run) == content(finished)


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(run, finished, edit_file) -> None:
    file = edit_file("- rename: {0: Zero}\n- merge: [1, 2]\n")
    result = call("edit", run, file, "--dry-run")
    assert "renamed 0" in result.output
    assert "nothing was written" in result.output
    assert content(run) == content(finished)


def test_json_in_and_out(run: Path, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text('[{"rename": {"0": "Zéro"}}, {"merge": [1, 2]}]')
    result = call("edit", run, tmp_path / "e.json", "--json")
    found = json.loads(result.stdout)
    assert found["clusters"]["0"] == "Zéro" and found["written"] and len(found["done"]) == 2


def test_one_of_a_file_and_undo_is_needed(run: Path, edit_file) -> None:
    for arguments in ([run], [run, edit_file("- delete: [1]\n"), "--undo"]):
        result = call("edit", *arguments, code=2)
        assert says(result.output, "name a file of edits")


def test_what_is_no_run_is_refused(tmp_path: Path, edit_file) -> None:
    for arguments in ([edit_file("- delete: [1]\n")], ["--undo"]):
        result = call("edit", tmp_path / "nothing", *arguments, code=2)
        assert says(result.output, "there is no folder")


def test_a_change_meanwhile_is_noticed(run: Path, monkeypatch, edit_file) -> None:
    module = importlib.import_module("coterie.runs.editing.edit")  # the name is the function's, too
    apply = module.apply_edits

    def slow(edits, state) -> None:
        apply(edits, state)
        manifest = run / "manifest.json"
        manifest.write_text(manifest.read_text() + " ")  # somebody else

    monkeypatch.setattr(module, "apply_edits", slow)
    before = rows(run)
    result = call("edit", run, edit_file("- merge: [0, 1]\n"), code=3)
    assert says(result.output, "was changed by another command in")
    assert rows(run) == before
