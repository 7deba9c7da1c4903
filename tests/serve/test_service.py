"""The endpoints, asked over a real socket: they answer what the run itself says."""

from __future__ import annotations

import json
import re
import shutil
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import commands
import coterie
from coterie import open_run
from coterie._util.folders import held
from coterie.runs.editing import edit
from coterie.serve import routes
from trees import whole

TEXTS = ["ripe plum juice", "the bus driver and the brake", "a violin song", "qqq", " ", ""]


def of_run(folder: Path, texts: list[str]) -> list[dict[str, Any]]:
    return open_run(folder).predict(texts).to_pylist()


def check_predictions(answer: Any, expected: list[dict[str, Any]]) -> None:
    assert answer.status == 200, answer.body
    for found, row in zip(answer.json["predictions"], expected, strict=True):
        for key in found.keys() & row.keys():  # the last digit depends on what shares a batch
            exact = not isinstance(row[key], float)
            assert found[key] == (row[key] if exact else pytest.approx(row[key], abs=2e-4)), key
        assert found.keys() - row.keys() <= {"runner_up_name"}
        assert {"cluster", "name", "confidence", "runner_up", "outlier"} <= found.keys()


def test_predict_answers_what_the_run_says(reading: Any, finished: Path) -> None:
    check_predictions(reading.post("/predict", {"texts": TEXTS}), of_run(finished, TEXTS))
    check_predictions(reading.post("/predict", {"text": TEXTS[1]}), of_run(finished, TEXTS[1:2]))
    names = {c.id: c.name for c in open_run(finished).clusters}
    first = reading.post("/predict", {"text": TEXTS[0]}).json["predictions"][0]
    assert first["runner_up_name"] == names[first["runner_up"]]
    nothing = reading.post("/predict", {"texts": ["", " "]}).json["predictions"]
    assert [row["cluster"] for row in nothing] == [-1, -1]


def test_requests_of_many_clients_share_batches(
    start: Callable[..., Any], finished: Path, topics: tuple[list[str], list[str]]
) -> None:
    client = start(finished)
    asked = [[text] if i % 3 else topics[0][i : i + 40] for i, text in enumerate(topics[0])]
    expected = {i: of_run(finished, texts) for i, texts in enumerate(asked[:30])}
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda texts: client.post("/predict", {"texts": texts}), asked))
    for i, rows in expected.items():
        check_predictions(answers[i], rows)
    assert all(answer.status == 200 for answer in answers)
    said = client.get("/metrics").body.decode()
    batches = re.findall(r"^coterie_batch_texts_count (\d+)", said, re.M)
    assert 0 < int(batches[0]) < len(asked)
    most = re.findall(r'^coterie_batch_texts_bucket\{le="64\.0"\} (\d+)', said, re.M)
    assert most == batches  # none was larger than allowed


BAD = [
    ("predict", {"texts": []}, 422),
    ("predict", {"texts": "a text"}, 422),
    ("predict", {"texts": ["a", 7]}, 422),
    ("predict", {"text": None}, 422),
    ("predict", {"text": "a", "texts": ["b"]}, 422),
    ("predict", {}, 422),
    ("predict", {"text": "a", "limit": 3}, 422),
    ("predict", {"text": "a", "level": True}, 422),
    ("predict", {f"k{i}": i for i in range(10_000)}, 422),
    ("predict", {"texts": ["a"] * 1001}, 413),
    ("predict", b"[1, 2]", 422),
    ("predict", b"{", 422),
    ("predict", b"", 422),
    ("predict", b"[" * 100_000, 400),
    ("predict", b'{"text": NaN}', 422),
    ("predict", b'{"text": ' + b"9" * 5000 + b"}", 400),
    ("predict", b'{"text": "\xff"}', 400),
    ("edits", {"edits": [{"merge": [0, 77]}]}, 422),
    ("edits", {"edits": [{"mrege": [0, 1]}]}, 422),
    ("edits", {"edits": "/etc/passwd"}, 422),
    ("edits", {"edits": [{"rename": {"0": "x" * 200}}]}, 422),
    ("edits", {"edits": [{"merge": [0, 1]}], "undo": True}, 422),
    ("edits", {"edits": [{"rename": {"0": "x"}}] * 1001}, 413),
    ("edits", {"undo": 1}, 422),
    ("edits", {"undo": True}, 422),  # there is nothing to undo
    ("edits", {"edits": [{"merge": [0, 1]}], "version": "old"}, 409),
    ("edits", {"edits": [{"merge": [0, 1]}], "version": 3}, 422),
    ("edits", {"undo": True, "version": "old"}, 409),
    ("cut", {"clusters": 1000}, 422),
    ("cut", {}, 422),
    ("update", {}, 422),
    ("update", {"rows": [["a"]]}, 422),
    ("update", {"texts": "/etc/passwd"}, 422),
    ("update", {"texts": ["a"], "version": "old"}, 409),
]


@pytest.mark.parametrize(("path", "body", "status"), BAD)
def test_bad_bodies_are_refused(
    reading: Any, finished: Path, path: str, body: Any, status: int
) -> None:
    before = content(finished)
    answer = reading.post(f"/{path}", body)
    assert answer.status == status and answer.json["error"]["message"]
    assert len(answer.body) < 1_000 and str(finished.parent) not in answer.body.decode()
    assert content(finished) == before


@pytest.mark.parametrize(
    "path",
    ["/texts?cluster=x", "/texts?cluster=-2", "/texts?limit=1001", "/texts?offset=-1",
     "/texts?outlier=maybe", "/texts?page=2",
     "/clusters?x=1", "/search", "/search?q=%20", "/search?q=%00", "/search?q=" + 2001 * "a",
     "/search?q=a&by=magic", "/search?q=a&limit=0"],
)  # fmt: skip
def test_bad_parameters_are_refused(reading: Any, path: str) -> None:
    answer = reading.get(path)
    assert (answer.status, answer.code) == (422, "serve.invalid")


@pytest.mark.parametrize("bad", ["\ud800", "a\x00"])
def test_no_field_of_a_request_can_hold_what_breaks_it(reading: Any, bad: str) -> None:
    row = {"id": "N", "text": "ripe plum"}
    for path, body in (
        ("predict", {"texts": [bad, "plum"]}),
        ("predict", {"text": "plum", bad: bad}),
        ("update", {"rows": [row | {"id": bad}]}),
        ("update", {"rows": [row | {"kind": {"a": [bad]}}]}),
        ("update", {"rows": [row | {bad: bad}]}),
        ("update", {"rows": [row], "text_column": bad, "id_column": bad}),
        ("edits", {"edits": [bad]}),
        ("edits", {"edits": [{"rename": {"0": bad}}]}),
        ("edits", {"edits": [{"rename": {bad: "a"}}]}),
        ("edits", {"edits": [{"move": {"rows": [{"text": bad}, {bad: 1}], "to": bad}}]}),
        ("edits", {"edits": [{"merge": [0, 1]}], "version": bad}),
    ):
        more: dict[str, Any] = {} if path == "predict" else {"dry_run": True}
        answer = reading.post(f"/{path}", {**body, **more})
        assert answer.status in (200, 409, 422), (path, body)
    quoted = quote(bad, errors="surrogatepass")
    for path in ("search?q", "texts?contains", "texts?outlier", "a"):
        assert reading.get(f"/{path}={quoted}").status in (200, 404, 422)


def test_clusters_are_those_of_the_run(reading: Any, finished: Path) -> None:
    run, answer = open_run(finished), reading.get("/clusters")
    assert answer.json["version"] == run.version
    assert [c["name"] for c in answer.json["clusters"]] == [c.name for c in run.clusters]
    expected = json.loads(json.dumps([c.to_dict() for c in run.clusters]))
    assert answer.json["clusters"] == expected


def test_texts_are_filtered_and_paged(reading: Any, finished: Path) -> None:
    table = open_run(finished).table.to_pylist()
    everything = reading.get("/texts?limit=1000").json
    assert everything["total"] == len(table) == len(everything["texts"])
    assert [t["id"] for t in everything["texts"]] == [row["id"] for row in table]
    parts = [reading.get(f"/texts?limit=25&offset={o}").json["texts"] for o in range(0, 100, 25)]
    assert [row for part in parts for row in part] == everything["texts"]
    cluster = table[0]["cluster"]
    found = reading.get(f"/texts?cluster={cluster}&contains=APPLE&limit=1000").json["texts"]
    expected = [row for row in table if row["cluster"] == cluster and "apple" in row["text"]]
    assert [t["id"] for t in found] == [row["id"] for row in expected]
    odd = reading.get("/texts?outlier=yes&limit=1000").json["texts"]
    assert [t["id"] for t in odd] == [row["id"] for row in table if row["outlier"]]
    assert all(t["outlier"] is True and t["cluster"] == -1 for t in odd)


def test_search_by_words_and_by_meaning(reading: Any, finished: Path) -> None:
    found = reading.get("/search?q=violin%20guitar&by=words&limit=100").json
    texts = [t["text"] for t in found["texts"]]
    both = [t for t in texts if "violin" in t and "guitar" in t]
    assert both and texts[: len(both)] == both  # more of the words come first
    assert all("violin" in t or "guitar" in t for t in texts)
    run = open_run(finished)
    row = next(i for i, text in enumerate(run.texts) if "violin" in text)
    near = reading.get(f"/search?q={run.texts[row].replace(' ', '%20')}&by=meaning&limit=5").json
    assert near["texts"][0]["text"] == run.texts[row] and near["texts"][0]["score"] > 0.999
    scores = [t["score"] for t in near["texts"]]
    assert scores == sorted(scores, reverse=True)
    mixed = reading.get("/search?q=violin&limit=5").json
    assert mixed["by"] == ["meaning", "words"] and "violin" in mixed["texts"][0]["text"]
    inside = reading.get(f"/search?q=violin&cluster={run.labels[row]}").json["texts"]
    assert {t["cluster"] for t in inside} == {int(run.labels[row])}
    assert reading.get("/search?q=%21%21&by=words").json["texts"] == []


def test_similar_texts_are_the_nearest_vectors(reading: Any, finished: Path) -> None:
    import numpy as np

    run = open_run(finished)
    vectors = run.model.transform(list(run.texts))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    row = 11
    scores = vectors @ vectors[row]
    scores[[i for i, text in enumerate(run.texts) if text == run.texts[row]]] = -1
    found = reading.get(f"/similar/T-{row}?limit=5").json
    assert found["to"]["text"] == run.texts[row]
    expected = np.sort(scores)[::-1][:5]
    assert np.allclose([t["score"] for t in found["texts"]], expected, atol=1e-5)
    for wrong in ("T-9999", "11", "../../etc/passwd", "%00", "T-11%2f..%2fx"):
        answer = reading.get(f"/similar/{wrong}")
        assert (answer.status, answer.code) == (404, "serve.no_row")


def content(folder: Path) -> dict[str, bytes]:
    """Every file of the run, without the times of changes."""
    when = rb'"when": "[^"]*"'
    return {n: re.sub(when, b"", data) for n, data in commands.content(folder).items()}


EDITS = [
    [{"merge": [0, 1], "name": "Both"}],
    [{"rename": {"2": "Two"}}],
    [{"move": {"rows": ["T-1", {"contains": "violin"}], "to": 3}}],
    [{"split": {"cluster": 0, "into": 2, "names": ["A", "B"]}}],
]


def test_edits_are_those_of_the_command(
    start: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    import shutil

    other = Path(shutil.copytree(folder, tmp_path / "elsewhere" / "tickets"))
    client = start(folder)
    versions = [client.get("/version").json["version"]]
    for edits in EDITS:
        done = client.post("/edits", {"edits": edits, "version": versions[-1]})
        assert done.status == 200, done.body
        by_hand = edit(other, edits)
        assert done.json["done"] == list(by_hand.done)
        assert done.json["clusters"] == {str(i): n for i, n in by_hand.clusters.items()}
        assert content(folder) == content(other)
        versions.append(done.json["version"])
        assert client.get("/clusters").json["version"] == versions[-1] == open_run(folder).version
    assert len(set(versions)) == len(EDITS) + 1
    for version in reversed(versions[:-1]):
        undone = client.post("/edits", {"undo": True})
        assert undone.json["version"] == version  # the earlier state again
    assert client.post("/edits", {"undo": True}).code == "edit.nothing_to_undo"


def test_predictions_follow_an_edit_at_once(start: Callable[..., Any], folder: Path) -> None:
    client, text = start(folder), open_run(folder).texts[0]
    before = client.post("/predict", {"text": text}).json["predictions"][0]["cluster"]
    to = (before + 1) % 4
    client.post("/edits", {"edits": [{"move": {"rows": [{"text": text}], "to": to}}]})
    after = client.post("/predict", {"text": text}).json["predictions"][0]
    assert after["cluster"] == to and after["confidence"] > 0.99
    assert client.get("/similar/T-0").json["to"]["cluster"] == to
    client.wait_for_vectors()
    assert client.get("/search?q=violin&by=meaning").json["texts"]


def test_a_dry_run_writes_nothing(start: Callable[..., Any], folder: Path) -> None:
    client, before = start(folder), content(folder)
    done = client.post("/edits", {"edits": [{"merge": [0, 1]}], "dry_run": True})
    assert done.json["written"] is False and done.json["done"][0].startswith("merged 1")
    client.post("/update", {"texts": ["a ripe plum"], "dry_run": True})
    assert content(folder) == before


def test_of_edits_at_once_one_is_done(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder)
    version = client.get("/version").json["version"]

    def rename(i: int) -> Any:
        edits = [{"rename": {"0": f"Name {i}"}}]
        return client.post("/edits", {"edits": edits, "version": version})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(rename, range(8)))
    assert sorted(a.status for a in answers) == [200] + 7 * [409]
    won = next(a.json for a in answers if a.status == 200)
    assert client.get("/clusters").json["version"] == won["version"]
    names = {c["name"] for c in client.get("/clusters").json["clusters"]}
    assert won["clusters"]["0"] in names
    assert len(open_run(folder).manifest["changes"]) == 1


def test_an_edit_of_many_rows_leaves_a_short_line(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder)
    edits: list[Any] = [{"rename": {"0": f"Name {i}"}} for i in range(900)]
    edits.append({"move": {"rows": [{"row": 1 + i % 9} for i in range(20_000)], "to": 0}})
    assert client.post("/edits", {"edits": edits}).status == 200
    assert (folder / "manifest.json").stat().st_size < 10_000
    assert client.post("/edits", {"undo": True}).json["undone"] == 1


def test_a_run_that_a_command_works_on_is_busy(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder)
    with held(folder):
        answer = client.post("/edits", {"edits": [{"merge": [0, 1]}]})
        assert (answer.status, answer.code) == (503, "run.held")
        assert answer.headers["retry-after"] == "1"
        assert str(folder) not in answer.json["error"]["message"]
        assert client.post("/predict", {"text": "plum"}).status == 200  # reading goes on
    assert client.post("/edits", {"edits": [{"merge": [0, 1]}]}).status == 200


def test_updates_add_rows(start: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    client = start(folder)
    client.wait_for_vectors()
    rows = [{"id": f"N-{i}", "text": f"ripe plum and pear number {i}"} for i in range(3)]
    done = client.post("/update", {"rows": rows})
    assert done.status == 200, done.body
    assert done.json["rows"] == 3 and done.json["written"] and done.json["run"] == "tickets"
    assert str(tmp_path) not in done.body.decode()
    assert client.get("/texts").json["total"] == 93
    client.wait_for_vectors()
    assert client.get("/similar/N-1").json["to"]["text"] == rows[1]["text"]
    again = client.post("/update", {"rows": rows})
    assert again.status == 422 and again.code == "update.known_ids"
    one = {"rows": [{"id": "O", "text": "ripe plum"}, {"id": "O", "text": "ripe pear"}]}
    assert client.post("/update", one).code == "update.one_id"
    none = {**one, "id_column": "none", "dry_run": True}
    assert client.post("/update", none).json["rows"] == 2
    assert client.post("/edits", {"undo": True}).status == 200
    assert client.get("/texts").json["total"] == 90


def test_a_run_is_replaced_without_losing_a_request(
    start: Callable[..., Any], folder: Path, topics: tuple[list[str], list[str]]
) -> None:
    client, stop = start(folder), threading.Event()
    statuses: list[int] = []
    versions: set[str] = set()

    def ask() -> None:
        while not stop.is_set():
            answer = client.post("/predict", {"texts": topics[0][:5]})
            statuses.append(answer.status)
            versions.add(answer.json["version"])

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(4)]
        wanted = [open_run(folder).version]
        for i in range(3):  # as a command would, in the same folder
            edit(folder, [{"rename": {"0": f"Name {i}"}}])
            wanted.append(open_run(folder).version)
            client.until(lambda: client.get("/version").json["version"] == wanted[-1])
        coterie.cluster(
            topics[0][:40], 2, method="kmeans", encoder="tfidf", folder=folder, overwrite=True
        )
        wanted.append(open_run(folder).version)
        client.until(lambda: client.get("/version").json["version"] == wanted[-1])
        client.until(lambda: wanted[-1] in versions)
        stop.set()
        for one in asking:
            one.result()
    assert set(statuses) == {200} and versions <= set(wanted)
    assert client.get("/texts").json["total"] == 40


def test_a_state_that_was_replaced_is_not_kept(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder)
    client.wait_for_vectors()
    vectors = client.service.first.snapshot.need_vectors()
    gone = []
    for i in range(3):
        gone.append(weakref.ref(client.service.first.snapshot))
        client.post("/predict", {"text": "plum"})
        client.post("/edits", {"edits": [{"rename": {"0": f"Name {i}"}}]})
    assert client.service.first.snapshot.need_vectors() is vectors  # of the same texts
    client.until(lambda: not any(old() for old in gone))  # without a collector of our own


def test_a_folder_that_goes_away_leaves_the_last_state(
    start: Callable[..., Any], folder: Path
) -> None:
    client = start(folder)
    version = client.get("/version").json["version"]
    away = folder.with_name("away")
    folder.rename(away)
    client.until(lambda: client.get("/version").json["trouble"] is not None)
    assert str(folder) not in client.get("/version").json["trouble"]
    assert client.get("/version").json["version"] == version
    assert client.post("/predict", {"text": "plum"}).status == 200
    assert client.get("/").status == 200 and client.get("/readyz").status == 200
    assert client.post("/edits", {"edits": [{"merge": [0, 1]}]}).status == 422
    assert not folder.exists()
    away.rename(folder)
    (folder / "manifest.json").write_text("{", "utf-8")  # damaged by hand
    client.until(lambda: "manifest" in (client.get("/version").json["trouble"] or ""))
    assert client.post("/predict", {"text": "plum"}).status == 200


def test_several_runs_have_paths_of_their_own(
    start: Callable[..., Any], folder: Path, topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    coterie.cluster(topics[0][:30], 2, method="kmeans", encoder="tfidf", folder=other)
    client = start(folder, other)
    client.wait_for_vectors()
    listed = client.get("/runs").json["runs"]
    assert [(r["name"], r["rows"], r["clusters"]) for r in listed] == [
        ("tickets", 90, 4), ("other", 30, 2),
    ]  # fmt: skip
    assert client.get("/runs/tickets/texts").json["total"] == 90
    assert client.get("/runs/other/texts").json["total"] == 30
    assert client.get("/runs/other/similar/7").json["to"]["row"] == 7
    for path in ("/clusters", "/runs/none/clusters", "/runs//clusters", "/runs/%2e%2e/clusters"):
        answer = client.get(path)
        assert answer.status == 404 and answer.code in ("serve.no_run", "serve.not_found"), path
    index = client.get("/").body.decode()
    assert 'href="/runs/tickets/"' in index and "<script" not in index
    assert client.get("/runs/other/").body.startswith(b"<!doctype html>")


def test_the_page_is_that_of_the_file_with_tools(reading: Any, finished: Path) -> None:
    answer = reading.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    file = (finished / "report.html").read_text("utf-8")
    assert "connect-src" not in file and 'id="live"' not in file and '"live"' not in file
    sections = re.compile(r"<h2[^>]*>.*?</h2>")
    found = sections.findall(answer.body.decode())
    found.remove('<h2 id="live-title">Work on the clusters</h2>')
    assert found == sections.findall(file)
    assert "connect-src 'self'" in answer.body.decode()


def test_it_says_that_it_is_well(reading: Any) -> None:
    for path in ("/healthz", "/readyz"):
        assert reading.get(path).json == {"status": "ok"}
    assert reading.ask("DELETE", "/clusters").status == reading.get("/predict").status == 405
    assert reading.get("/nothing").status == 404
    slash = reading.get("/runs/tickets")
    assert slash.status == 307 and slash.headers["location"].endswith("/runs/tickets/")


def test_metrics_are_lines_that_prometheus_reads(reading: Any) -> None:
    reading.post("/predict", {"texts": ["a", "b"]})
    answer = reading.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    sample = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? [0-9.e+-]+')
    lines = answer.body.decode().splitlines()
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)
    found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert float(found['coterie_predicted_texts_total{run="tickets"}']) >= 2
    assert float(found["process_resident_memory_bytes"]) > 1e7
    assert float(found['coterie_run_rows{run="tickets"}']) == 90


def test_every_address_is_documented_and_its_examples_work(
    start: Callable[..., Any], grown: Path, tmp_path: Path
) -> None:
    client = start(Path(shutil.copytree(grown, tmp_path / "tickets")))
    client.wait_for_vectors()
    schemas = client.get("/openapi.json").json["components"]["schemas"]
    for route in routes.of_run.routes:
        path, model = route.path_format, route.response_model
        if model is None:
            continue
        if "GET" in route.methods:
            wanted = "?q=violin" if path == "/search" else ""
            answers = [client.get(path.replace("{id}", "T-12") + wanted)]
        else:
            examples = schemas[path[1:].rstrip("s").capitalize()]["examples"]
            answers = [
                client.post(path, json.loads(json.dumps(body).replace("gift card", "violin")))
                for body in examples
            ]
        for answer in answers:
            assert answer.status == 200, (path, answer.body)
            model.model_validate(answer.json)  # what is sent is what is documented


def test_cuts_of_a_merge_tree(start: Callable[..., Any], grown: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(grown, tmp_path / "tickets"))
    client, run = start(folder), coterie.Run(folder)
    tree, texts = run.tree, run.texts[:20]
    said = client.get("/clusters").json
    assert said["tree"] == {"at": tree.at, "finest": tree.finest, "levels": dict(tree.levels)}
    for level in ("broad", "fine", 5):
        wanted = run.predict(texts, level=level)
        found = client.post("/predict", {"texts": texts, "level": level}).json["predictions"]
        for name in ("cluster", "name", "runner_up", "medium", "medium_name"):
            assert [row[name] for row in found] == wanted[name].to_pylist()
        assert {row["runner_up_name"] for row in found} <= {
            node.name for node in run.nodes.values()
        }
    done = client.post("/cut", {"clusters": "broad", "version": said["version"]})
    assert done.status == 200 and len(done.json["clusters"]) == tree.number("broad")
    assert done.json["clusters"] == {str(i): name for i, name in whole(folder).names.items()}
    assert client.get("/clusters").json["tree"]["at"] == tree.number("broad")
    late = client.post("/cut", {"clusters": 5, "version": said["version"]})
    assert (late.status, late.code) == (409, "edit.other_version")
    assert client.post("/cut", {"clusters": 1000}).code == "cut.number"
    answer = client.post("/predict", {"text": "refund", "level": "finest"})
    assert (answer.status, answer.code) == (422, "cut.number")
    assert client.post("/edits", {"undo": True}).status == 200
    assert client.get("/clusters").json["clusters"] == said["clusters"]
