"""Names from an endpoint: what it sees, what is kept, and what happens when it fails."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import coterie
from coterie._progress import Progress
from coterie.naming import Endpoint, make_requests, name_clusters
from said import says


def names(naming) -> list[str]:
    return [cluster.name for cluster in naming.clusters]


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "names.jsonl").read_text().splitlines()]


def quick(server) -> Endpoint:
    return Endpoint(server.url, timeout=2, tries=2, pause=0.01)


def echo(server):
    """Answers with the first telling word, so that every cluster has a name of its own."""

    def answer(handler, body) -> None:
        server.say(f"About {server.sent(body)['words'][0]}")(handler, body)

    return answer


def test_one_question_per_cluster(server, clusters) -> None:
    server.plan = [echo(server)]
    naming = coterie.name_clusters(clusters, server.url)
    assert names(naming) == ["About word0", "About word1", "About word2"]
    assert (naming.named, naming.asked, naming.total, naming.problem) == (3, 3, 3, None)
    assert naming.model == "tiny" and len(server.seen) == 3
    assert [near.name for c in naming.clusters for near in c.near] == [
        "About word1", "About word2", "About word0",
    ]  # fmt: skip


def test_personal_data_stay(server, clusters, tmp_path: Path) -> None:
    name_clusters(clusters, server.url, folder=tmp_path)
    sent = json.dumps(server.seen) + (tmp_path / "names.jsonl").read_text()
    for secret in ("Anna", "a.b@example", "4111 1111"):  # a digest may hold any four digits
        assert secret not in sent
    for mark in ("[name]", "[email]", "[card]"):
        assert mark in sent
    assert lines(tmp_path)[1]["masked"] == {"name": 1, "email": 1, "card": 1}


def test_words_and_parts_are_masked_too_and_names_of_neighbours_are_not_sent(clusters) -> None:
    cluster = replace(clusters[0], words=[("a.b@example.org", 1.0)])
    (request,) = make_requests([cluster], "m", parts={0: ["+49 30 1234567"]})
    sent = str(request.body)
    assert "[phone]" in sent and not any(s in sent for s in ("example.org", "1234567", "own 1"))


@pytest.mark.parametrize("examples", [0, 6])
def test_what_is_masked_in_a_text_is_in_no_other_field(server, clusters, examples: int) -> None:
    texts = ["Dear Anna Kowalczyk, a refund please", "where is ANNA kowalczyk today"]
    words = [("anna kowalczyk", 2.0), ("refund", 1.5), ("kowalczyk", 1.0)]
    group = [
        replace(clusters[0], words=words),
        replace(clusters[1], examples=["the door is open"], diverse=texts),  # only here
    ]
    parts = {0: ["Refund, Kowalczyk"]}
    first, second = make_requests(group, "m", examples=examples, parts=parts)
    for request in (first, second):
        sent = json.dumps(request.body, ensure_ascii=False).casefold()
        assert "anna" not in sent and "kowalczyk" not in sent
    assert server.sent(first.body)["words"] == ["refund"]
    assert server.sent(first.body)["parts"] == ["Refund, [name]"]
    if examples:
        assert "where is [name] [name] today" in server.sent(second.body)["texts"]
    else:
        assert server.sent(second.body).keys() == {"words"}
    assert first.masked["name"] >= 3


def test_words_that_most_texts_mask_are_not_sent(server, clusters) -> None:
    words = [("kowalczyk", 1.0), ("order", 1.0), ("jürgen", 1.0)]
    texts = ["Dear Kowalczyk, hi", "Dear Kowalczyk, yes", "I met kowalczyk"]
    texts += ["my order", "an order", "Hello Order, hi", "Hello Ju\u0308rgen, it broke"]
    cluster = replace(clusters[0], words=words)
    (request,) = make_requests([cluster], "m", texts=texts)
    assert server.sent(request.body)["words"] == ["order"]


def test_an_example_is_cut_behind_its_mask_not_inside(clusters) -> None:
    text = "x " * 117 + "anna.maria.b@example.org and more"
    (request,) = make_requests([replace(clusters[0], examples=[text])], "m")
    assert "anna" not in str(request.body)


def test_an_empty_cluster_is_not_asked_about(clusters) -> None:
    assert [r.cluster for r in make_requests([replace(clusters[0], size=0)], "m")] == []


def test_ctrl_c_loses_nothing(server, clusters, tmp_path: Path) -> None:
    class Stop(Progress):
        def advance(self, done: int, values=None) -> None:
            if done == 2:
                raise KeyboardInterrupt

    server.plan = [echo(server)]
    with pytest.raises(KeyboardInterrupt):
        name_clusters(clusters, server.url, folder=tmp_path, progress=Stop())
    assert len(server.seen) == 2
    with (tmp_path / "names.jsonl").open("a") as file:
        file.write('{"status": "answered", "digest": "ab')  # a crash in the middle of a line
    naming = name_clusters(clusters, server.url, folder=tmp_path)
    assert naming.asked == 1 and naming.named == 3 and len(server.seen) == 3
    assert name_clusters(clusters, server.url, folder=tmp_path).asked == 0


@pytest.mark.parametrize("status", [401, 500])
def test_own_names_stay_when_the_endpoint_fails(server, clusters, status: int, tmp_path) -> None:
    server.plan = [server.say("First"), server.fail(status)]
    naming = name_clusters(clusters, quick(server), folder=tmp_path, model="m")
    assert names(naming) == ["First", "own 1", "own 2"]
    assert naming.named == 1 and str(status) in naming.problem
    assert len(server.seen) == (2 if status == 401 else 3)  # no cluster after the one that failed
    assert [line["status"] for line in lines(tmp_path)] == ["answered", "failed"]
    server.plan = [server.say("Then"), server.say("Then")]
    after = name_clusters(clusters, quick(server), folder=tmp_path, model="m")
    assert names(after) == ["First", "Then", "Then (word2)"] and after.asked == 2


def test_one_useless_answer_costs_one_name(server, clusters) -> None:
    empty = server.chat(" ** ")
    server.plan = [server.say("One"), lambda handler, _: server.send(handler, 200, empty),
                   server.say("Three")]  # fmt: skip
    naming = name_clusters(clusters, server.url)
    assert names(naming) == ["One", "own 1", "Three"] and says(
        naming.problem, "answered with nothing"
    )


def test_rejected_names_do_not_end_the_questions(
    server, clusters, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = iter(["Tax law", "long " * 30] * 5)  # not backed, and not a name
    server.plan = [lambda handler, _: server.send(handler, 200, server.chat(next(said)))]
    many = [replace(clusters[i % 3], id=i, name=f"own {i}", near=[]) for i in range(9)]
    naming = name_clusters(many, server.url, model="m", folder=tmp_path)
    assert naming.asked == len(server.seen) == 9 and naming.problem is None
    assert names(naming) == [f"own {i}" for i in range(9)]
    assert says(caplog.text, "9 names rejected", "'Tax law'", "'own 0'")
    assert {line["answer"] for line in lines(tmp_path)} == {"Tax law", "long " * 30}


@pytest.mark.parametrize("examples", [0, 6])
def test_placeholders_are_not_sent(clusters, examples: int) -> None:
    texts = ["N/A", "late parcel", "test", "see above."]
    mixed = replace(clusters[0], examples=texts, diverse=["none", "n/a", "no van came"])
    alone = replace(clusters[1], examples=["N/A", "test"], diverse=["-"])
    (request,) = make_requests([mixed, alone], "m", examples=examples)
    sent = json.dumps(request.body).casefold()
    assert not any(word in sent for word in ("n/a", '"test', "- test", "see above", "- none"))
    assert (
        request.cluster == 0 and request.shown["texts"] == ["late parcel", "no van came"][:examples]
    )


def test_a_long_answer_is_read_again_as_before(server, clusters, tmp_path: Path) -> None:
    thought = "<think>" + "or refunds? " * 900 + "</think>"
    said = f"{thought}Name: Zzz\nQuote: my parcel is late\nQuote: second 0"
    server.plan = [lambda handler, _: server.send(handler, 200, server.chat(said))]
    for _ in range(2):
        assert names(name_clusters(clusters[:1], server.url, folder=tmp_path)) == ["Zzz"]
    assert len(server.seen) == 1 and "refunds?" not in lines(tmp_path)[0]["answer"]


def test_garbage_without_end_is_given_up(server, clusters) -> None:
    server.plan = [lambda handler, _: server.send(handler, 200, b"<html>")]
    many = [replace(clusters[i % 3], id=i, name=f"own {i}", near=[]) for i in range(9)]
    naming = name_clusters(many, server.url, model="m")
    assert names(naming) == [f"own {i}" for i in range(9)] and len(server.seen) == 9 // 3
    assert says(naming.problem, "the answer of")


def test_what_is_kept(server, clusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_API_KEY", "sk-secret")
    name_clusters(clusters, server.url, folder=tmp_path)
    first = lines(tmp_path)[0]
    assert first["name"] == "A good name" and first["answer"].startswith(
        "Name: A good name\nQuote:"
    )
    assert first["own_name"] == "own 0" and first["tokens"] > 0
    assert {"digest", "cluster", "endpoint", "masked", "request", "seconds", "at"} <= first.keys()
    assert "sk-secret" not in (tmp_path / "names.jsonl").read_text()


def test_lone_surrogates_do_not_stop_it(server, clusters, tmp_path: Path) -> None:
    broken = [replace(clusters[0], examples=["late \ud800 parcel"])]
    assert name_clusters(broken, server.url, folder=tmp_path).named == 1
