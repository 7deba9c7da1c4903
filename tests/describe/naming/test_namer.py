"""Names from an endpoint: what it sees, what is taken from an answer, and what a failure costs."""

import json
from dataclasses import replace

import pytest

import coterie
from coterie.describe.naming import Endpoint, EndpointError, NameOptions, ask_names, make_requests
from coterie.describe.naming.namer import read_answer


def quick(server) -> Endpoint:
    return Endpoint(server.url, timeout=2, tries=2, pause=0.01)


def test_one_question_per_cluster(server, clusters) -> None:
    named = coterie.name_clusters(clusters, server.url)
    assert [c.name for c in named] == ["About word0", "About word1", "About word2"]
    assert {c.description for c in named} == {"What they are about."} and len(server.seen) == 3
    assert [near.name for c in named for near in c.near] == [
        "About word1", "About word2", "About word0",
    ]  # fmt: skip


def test_personal_data_stay(server, clusters) -> None:
    words = [("refund", 1.0), ("x.y@example.org", 1.0)]
    also = replace(clusters[2], words=words, examples=["where is it"])
    coterie.name_clusters([*clusters[:2], also], server.url)
    sent = json.dumps(server.seen).casefold()
    for secret in ("anna", "@example", "4111 1111"):
        assert secret not in sent
    for mark in ("[name]", "[email]", "[card]"):
        assert mark in sent
    last = max(server.seen, key=lambda body: "where is" in str(body["messages"][-1]))
    assert server.sent(last)["words"] == ["refund"]


def test_words_alone_are_sent_where_no_texts_may_be(server, clusters) -> None:
    for body in make_requests(clusters, NameOptions("m", examples=0)).values():
        assert "- " not in "".join(message["content"] for message in body["messages"][1:])


def test_nothing_is_asked_about_empty_clusters_and_placeholders(clusters) -> None:
    empty, alone = replace(clusters[0], size=0), replace(clusters[1], examples=["N/A", "test"])
    assert list(make_requests([empty, alone, clusters[2]], NameOptions("m"))) == [2]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ('{"name": "Late parcels"}', "Late parcels"),
        ('```json\n{\n "name": "Late parcels",\n "description": 3}\n```', "Late parcels"),
        ('<think>{"name": "No"}</think>{"name": "**Late parcels.**"}', "Late parcels"),
        ('{"name": "=HYPERLINK(1)"}', "HYPERLINK(1)"),
        ('{"name": "late\\u202e\\n\\u001b[2Jparcels"}', "late [2Jparcels"),
        ('{"name": "می\u200cخواهم"}', "می\u200cخواهم"),
        ('{"name": "<script>alert(1)</script>"}', "<script>alert(1)</script>"),  # pages escape it
    ],
)
def test_a_name_is_one_harmless_line(answer: str, name: str) -> None:
    assert read_answer(answer).name == name


@pytest.mark.parametrize(
    "answer",
    ["", "Late parcels", '{"name": null}', '{"name": "***"}', '{"name": "Outliers"}', "{" * 99_999,
     json.dumps({"name": "word " * 20}), '["a"]'],
    ids=range(8),
)  # fmt: skip
def test_what_has_no_name_costs_one_name(server, clusters, answer: str) -> None:
    server.plan = [lambda handler, body: (
        server.send(handler, 200, server.chat(answer)) if "word1" in str(body["messages"][-1])
        else server.by_word(handler, body))]  # fmt: skip
    naming = ask_names(clusters, quick(server))
    assert sorted(naming.answers) == [0, 2] and "'own 1'" in str(naming.problem)


def test_no_two_names_are_alike(server, clusters) -> None:
    server.plan = [server.say("Refunds")]
    found = ask_names(clusters, quick(server), others=["refunds"])
    names = {answer.name for answer in found.answers.values()}
    assert names == {"Refunds (word0)", "Refunds (word1)", "Refunds (word2)"}


def test_a_server_that_fails_is_not_asked_on(server, clusters) -> None:
    server.plan = [server.by_word, server.fail(401)]
    many = [replace(clusters[i % 3], id=i, name=f"own {i}", near=[]) for i in range(40)]
    naming = ask_names(many, quick(server), NameOptions("m"))
    assert len(naming.answers) <= 1 and "401" in str(naming.problem)
    assert len(server.seen) < 20
    with pytest.raises(EndpointError, match="401"):
        coterie.name_clusters(many, quick(server), model="m")
