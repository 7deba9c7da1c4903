"""A run whose personal data is masked: no file has it, and what was masked is counted."""

import csv
import json
from pathlib import Path

import pyarrow.parquet
import pytest

import commands
from commands import run
from coterie import cluster, open_run
from coterie.corpus import read_corpus
from coterie.errors import UsageError
from coterie.masking import masked_sentence
from coterie.runs.update import update
from said import raises, says

SECRETS = ["anna.berg@example.org", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00",
           "+49 30 1234567", "Zebedee"]  # fmt: skip


def write(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "contact"])
        writer.writerows(rows)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Every text holds a secret, and so does a column beside; the ids look like numbers."""
    rows = []
    for i in range(24):
        secret, theme = SECRETS[i % 5], ("refund money back", "parcel courier late")[i % 2]
        text = f"{theme} {i}: {secret}"
        rows.append((f"20260{i:03}", text, "anna.berg@example.org"))
    return write(tmp_path / "texts.csv", rows)


@pytest.fixture
def names(tmp_path: Path) -> Path:
    path = tmp_path / "names.txt"
    path.write_text("Zebedee\nMarcus Aurelius\n", "utf-8")
    return path


def check_clean(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes().replace(b"\\u0040", b"@")
            for secret in SECRETS:
                assert secret.encode() not in content, f"{secret} in {path}"
                assert secret.lower().encode() not in content, f"{secret} in {path}"


@pytest.mark.parametrize("sampled", [False, True])
def test_no_file_of_the_run_has_personal_data(
    file: Path, names: Path, tmp_path: Path, sampled: bool
) -> None:
    out = tmp_path / "run"
    more = ["--set", "fit_sample=20"] if sampled else ["--set", "write=jsonl"]
    run("cluster", file, "-k", 2, "--method", "kmeans", "--encoder", "tfidf", "--mask",
                 "--set", f"mask_names={names}", "--id-column", "id", "--out", out,
                 *more)  # fmt: skip
    check_clean(out)
    data = json.loads((out / "manifest.json").read_text("utf-8"))["data"]
    # Each kind is in every fifth text; the column beside has an address in every row.
    assert data["masked"] == {
        "found": {"card": 5, "email": 29, "iban": 5, "name": 4, "phone": 5}, "by_list": True,
    }  # fmt: skip
    sentence = (
        "Personal data is masked: IBAN 5x, card number 5x, e-mail address 29x, name of a person "
        "4x, telephone number 5x."
    )
    assert sentence in (out / "report.html").read_text("utf-8")
    rows = commands.rows(out)
    assert [row["id"] for row in rows] == [f"20260{i:03}" for i in range(24)]
    assert rows[0]["text"].endswith("[email]") and rows[0]["contact"] == "[email]"
    words = {
        w
        for c in json.loads((out / "clusters.json").read_text())["clusters"]
        for w, _ in c["words"]
    }
    assert words and not words & {"email", "phone", "iban", "card", "name"}
    run("export", out, "--to", "tsv")
    check_clean(out)


def test_new_rows_of_a_masked_run_are_masked(file: Path, names: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    cluster(str(file), 2, method="kmeans", encoder="tfidf", folder=out, mask_names=names)
    new = write(tmp_path / "new.csv", [("1", f"refund money: {s}", "x") for s in SECRETS])
    with raises(UsageError, "FILE, so that the", str(out)):
        update(out, str(new))
    update(out, str(new), mask_names=["Zebedee"])
    check_clean(out)
    data = json.loads((out / "manifest.json").read_text("utf-8"))["data"]
    assert data["masked"]["found"] == {"card": 6, "email": 30, "iban": 6, "name": 5, "phone": 6}
    page = (out / "report.html").read_text("utf-8")
    assert masked_sentence(data["masked"]["found"]) in page


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write(tmp_path / "new.csv", [(f"4111111111{i}", f"refund money: {s}", "a.b@example.org")
                                        for i, s in enumerate(SECRETS)])  # fmt: skip


# In the texts of the new rows and the column beside.
NEW = {"card": 1, "email": 6, "iban": 1, "name": 1, "phone": 1}


def make(file: Path, out: Path, **options: object) -> Path:
    cluster(str(file), 2, method="kmeans", encoder="tfidf", folder=out, **options)
    return out


def test_predict_masks_as_the_run_does(file: Path, names: Path, new: Path, tmp_path: Path) -> None:
    out, labelled = make(file, tmp_path / "run", mask_names=names), tmp_path / "labelled.csv"
    result = run("predict", out, new, "--out", labelled, code=2)
    assert says(result.output, "FILE, so that the", str(out))
    assert not labelled.exists()
    options = ("--mask-names", names, "--id-column", "id")
    result = run("predict", out, new, "--out", labelled, *options)
    check_clean(labelled.parent / "run")
    written = labelled.read_text("utf-8")
    assert not [secret for secret in [*SECRETS, "a.b@"] if secret in written]
    assert masked_sentence(NEW) in result.output
    rows = list(csv.DictReader(written.splitlines()))
    assert [row["id"] for row in rows] == [f"4111111111{i}" for i in range(5)]
    # What the model sees is what it was fitted on: the same text with another secret is the same.
    assert rows[0]["text"] == "refund money: [email]"
    other = open_run(out).predict(["refund money: x@example.com"], mask_names=["Zebedee"])
    assert other["text"].to_pylist() == ["refund money: [email]"]
    assert f"{other['confidence'][0].as_py():.4f}" == f"{float(rows[0]['confidence']):.4f}"
    result = run("predict", out, new, "--no-mask")
    assert "Zebedee" in result.stdout
    assert "Personal data" not in result.output
    result = run("predict", out, new, "--no-mask", "--mask-names", names, code=2)
    assert says(result.output, "a list of names")


def test_predict_masks_when_asked_and_to_all_outputs(
    file: Path, names: Path, new: Path, tmp_path: Path
) -> None:
    out = make(file, tmp_path / "run")
    plain = run("predict", out, new)
    assert "Zebedee" in plain.stdout and "Personal data" not in plain.output
    found = run("predict", out, new, "--mask")
    assert "Zebedee" in found.stdout and "[email]" in found.stdout  # on no list
    for name in ("labelled.jsonl", "labelled.parquet", "labelled.xlsx"):
        run("predict", out, new, "--mask-names", names, "--out", tmp_path / name)
        table = read_corpus(tmp_path / name, text_column="text").table
        assert table["text"].to_pylist()[4] == "refund money: [name]"
        assert table["contact"].to_pylist() == ["[email]"] * 5


def test_bytes_and_what_is_nested_are_masked(tmp_path: Path) -> None:
    texts = [f"{('refund', 'parcel')[i % 2]} {i}: {SECRETS[0]}" for i in range(12)]
    columns = {
        "text": [text.encode() for text in texts],
        "list": [["to", SECRETS[0]]] * 12,
        "pairs": [{"to": {"phone": SECRETS[3]}, "n": 1}] * 12,
        "raw": [SECRETS[3].encode()] * 12,
        "other": [b"\xff\x00"] * 12,
    }
    done = cluster(pyarrow.table(columns), 2, method="kmeans", encoder="tfidf", mask=True)
    check_clean(done.folder)
    assert done.manifest["data"]["masked"]["found"] == {"email": 24, "phone": 24}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "new.parquet")
    run("predict", done.folder, tmp_path / "new.parquet", "--out", tmp_path / "out.parquet")
    row = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()[0]
    assert row["list"] == ["to", "[email]"] and row["pairs"] == {"to": {"phone": "[phone]"}, "n": 1}
    assert row["raw"] == b"[phone]" and row["other"] == b"\xff\x00"


def test_nested_json_stays_nested_where_it_is_masked(file: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.jsonl"
    new.write_text('{"text": "a refund", "by": {"mail": "anna.berg@example.org"}}\n', "utf-8")
    out = make(file, tmp_path / "run")
    run("predict", out, new, "--mask", "--out", tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text("utf-8"))["by"] == {"mail": "[email]"}


def test_shards_are_masked_and_counted(file: Path, names: Path, new: Path, tmp_path: Path) -> None:
    out = make(file, tmp_path / "run", mask_names=names)
    table = read_corpus(new, text_column="text").table
    (tmp_path / "parts").mkdir()
    for name, part in (("a", table.slice(0, 2)), ("b", table.slice(2)), ("c", table.slice(0, 0))):
        pyarrow.parquet.write_table(part, tmp_path / "parts" / f"{name}.parquet")
    result = run("predict", out, tmp_path / "parts", "--out", tmp_path / "done",
                 "--mask-names", names, "--id-column", "id", "--text-column", "text")  # fmt: skip
    assert masked_sentence(NEW) in result.output
    assert json.loads((tmp_path / "done" / "manifest.json").read_text())["masked"] == NEW
    parts = [pyarrow.parquet.read_table(tmp_path / "done" / f"{name}.parquet") for name in "ab"]
    texts = [text for part in parts for text in part["text"].to_pylist()]
    assert texts[0] == "refund money: [email]" and texts[4] == "refund money: [name]"


def test_a_missing_list_of_names_is_rejected(file: Path, tmp_path: Path) -> None:
    result = run(
        "cluster",
        file,
        "--set",
        f"mask_names={tmp_path / 'none.txt'}",
        "--out",
        tmp_path / "o",
        code=3,
    )
    assert says(result.output, "cannot be read as a list")


@pytest.mark.parametrize("other", [{"mask": True}, {"id_column": "id"}])
def test_a_finished_run_that_was_read_otherwise_is_another_run(other, tmp_path: Path) -> None:
    """The texts hold no secret, so they are the same; the column beside does."""
    texts = ["red apple", "ripe apple", "old car", "fast car"]
    rows = [(f"r{i}", text, SECRETS[0]) for i, text in enumerate(texts)]
    file = write(tmp_path / "texts.csv", rows)
    asked = {"method": "kmeans", "encoder": "tfidf", "text_column": "text"}
    asked |= {"folder": tmp_path / "run", "resume": True}
    cluster(file, 2, **asked)
    assert not cluster(file, 2, **asked).fresh
    with raises(UsageError, "other settings", *other):
        cluster(file, 2, **asked, **other)
