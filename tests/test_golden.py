"""Runs and models that an earlier version wrote open, answer, and can be worked on."""

import json
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from conftest import make_topics

import coterie
from golden.make import NEW

GOLDEN = Path(__file__).with_name("golden")
RUNS = sorted(GOLDEN.glob("runs/*.zip"))
MODELS = sorted(GOLDEN.glob("models/*.zip"))


def unpack(archive: Path, place: Path) -> tuple[Path, dict[str, list]]:
    with ZipFile(archive) as file:
        file.extractall(place)
    return place / "folder", json.loads((place / "answers.json").read_text())


@pytest.mark.parametrize("archive", MODELS, ids=lambda path: path.stem)
def test_models_answer_as_they_did(archive: Path, tmp_path: Path) -> None:
    folder, answers = unpack(archive, tmp_path)
    model = coterie.load(folder)
    p = model.predict_proba(NEW)
    second, first = np.sort(p, axis=1)[:, -2:].T
    clear = first - second > 1e-4  # ties are decided by the rounding of a machine
    assert clear.sum() > len(NEW) / 2
    assert model.predict(NEW)[clear].tolist() == np.array(answers["labels"])[clear].tolist()
    assert np.allclose(first, answers["probability"], atol=1e-4)


@pytest.mark.parametrize("archive", RUNS, ids=lambda path: path.stem)
def test_runs_answer_and_can_be_worked_on(archive: Path, tmp_path: Path) -> None:
    folder, answers = unpack(archive, tmp_path)
    run = coterie.open_run(folder)
    told = run.predict(NEW)
    assert np.asarray(told["cluster"]).tolist() == answers["labels"]
    assert np.allclose(np.asarray(told["confidence"], float), answers["probability"], atol=1e-4)

    before, said = run.labels.tolist(), run.summary
    run.edit([{"merge": [0, 1]}])
    run = coterie.open_run(folder)
    assert set(run.labels) == set(before) - {1}
    assert f"in {len(run.clusters)} cluster" in " ".join(run.summary) not in said
    run.undo()
    assert run.summary == said
    assert coterie.open_run(folder).labels.tolist() == before

    later = make_topics(9, seed=8)[0]
    rows = [{"id": f"x{i}", "text": text, "length": 1} for i, text in enumerate(later)]
    coterie.open_run(folder).update(rows if "id" in run.table.column_names else later)
    again = coterie.open_run(folder).labels
    assert again[: len(before)].tolist() == before and len(again) > len(before)
