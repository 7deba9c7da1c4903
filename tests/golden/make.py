"""Make the fixtures that every later version has to open: finished runs, and models of each class.

    PYTHONPATH=tests python -m golden.make     # writes runs/*.zip and models/*.zip

Make them anew only when the format of run folders or models changes on purpose, under another name,
and keep the old ones: people have folders of that age.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from conftest import make_tiny_encoder, make_topics

import coterie
from test_contract import FIRST, fast

HERE = Path(__file__).parent
TEXTS = make_topics(120)[0]
NEW = [*make_topics(12, seed=7)[0], "", "zebra zebra"]


def _plain(folder: Path, **options: object) -> coterie.Run:
    rows = [{"id": f"r{i}", "text": text, "length": len(text)} for i, text in enumerate(TEXTS)]
    return coterie.cluster(
        rows,
        3,
        "kmeans",
        encoder="tfidf",
        folder=folder,
        id_column="id",
        text_column="text",
        max_outliers="5%",
        **options,
    )


def _updated(folder: Path) -> None:
    rows = [{"id": f"n{i}", "text": text, "length": len(text)} for i, text in enumerate(NEW)]
    _plain(folder).update(rows)


def _edited(folder: Path) -> None:
    run = _plain(folder)
    run.edit([{"rename": {0: "First"}}, {"merge": [1, 2]}])


RUNS: dict[str, Callable[[Path], object]] = {
    "plain": _plain,
    "updated": _updated,
    "edited": _edited,
    "sampled": lambda folder: _plain(folder, fit_sample=60),
    "levels": lambda folder: coterie.cluster(
        TEXTS, None, "kmeans", encoder="tfidf", folder=folder, levels=(2, 4)
    ),
    "sentences": lambda folder: coterie.cluster(
        [f"{a}. {b}." for a, b in zip(TEXTS[::2], TEXTS[1::2], strict=True)],
        3,
        "kmeans",
        encoder="tfidf",
        folder=folder,
        split="sentences",
    ),
}


def _answers(labels: np.ndarray, probability: np.ndarray) -> str:
    p = np.asarray(probability, dtype=float).round(6)
    return json.dumps({"labels": np.asarray(labels).tolist(), "probability": p.tolist()})


def make_run(name: str, folder: Path) -> None:
    """A finished run, and beside it what it answers."""
    RUNS[name](folder)
    run = coterie.open_run(folder)
    told = run.predict(NEW)
    answers = _answers(told["cluster"], told["confidence"])
    folder.with_suffix(".json").write_text(answers)


def make_model(name: str, folder: Path) -> None:
    """A saved model of a method, and beside it what it answers."""
    more: dict[str, object] = {"word_vectors": "ppmi"} if name == "adsl" else {}
    if name == "sccl":  # the one with a transformer of its own
        (folder.parent / "tiny").mkdir()
        more["encoder"] = str(make_tiny_encoder(folder.parent / "tiny"))
    model = fast(name, **more).fit(TEXTS)
    model.save(folder)
    folder.with_suffix(".json").write_text(
        _answers(model.predict(NEW), model.predict_proba(NEW).max(axis=1))
    )


def pack(folder: Path, target: Path) -> None:
    """A folder and the answers beside it in a zip file."""
    target.parent.mkdir(exist_ok=True)
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        archive.write(folder.with_suffix(".json"), "answers.json")
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(path, Path("folder", path.relative_to(folder)))


def main() -> None:
    for kind, names, make in (("runs", RUNS, make_run), ("models", FIRST, make_model)):
        for name in names:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place, name)
                make(name, folder)
                pack(folder, HERE / kind / f"{name}.zip")


if __name__ == "__main__":
    main()
