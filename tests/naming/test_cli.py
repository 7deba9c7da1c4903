"""``coterie name``: files, messages, exit codes."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from commands import rows, run
from coterie import clustering
from coterie._folders import held
from endpoint_server import send
from said import says


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    """A finished run with own names, and its input beside it."""
    folder = tmp_path_factory.mktemp("names")
    with (folder / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "name"])  # a column that the result has, too
        writer.writerows([i, text, "mine"] for i, text in enumerate(topics[0]))
        writer.writerow([90, "", "mine"])
    options = ["-k", "3", "--encoder", "tfidf", "-q", "--out", folder / "run"]
    run("cluster", folder / "in.csv", *options)
    return folder


@pytest.fixture
def done(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "run", tmp_path / "run"))


def clusters_of(folder: Path) -> list[dict]:
    return list(json.loads((folder / "clusters.json").read_text())["clusters"])


def cluster_names(folder: Path) -> list[str]:
    return [cluster["name"] for cluster in clusters_of(folder)]


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


HOSTILE = ["Early <script>alert(1)</script>", "=cmd()\x1b[2J two", "Three"]


def test_a_finished_run_gets_names_everywhere(server, done: Path) -> None:
    server.plan = [server.say(name) for name in HOSTILE]
    before = rows(done)
    run("name", done, "--with", server.url)
    names = cluster_names(done)
    assert names == [HOSTILE[0], "cmd() two", "Three"]
    after = rows(done)
    for old, new in zip(before, after, strict=True):
        expected = names[int(new["cluster"])] if new["cluster"] != "-1" else "(no text)"
        assert new["coterie_name"] == expected and new["name"] == "mine"
        assert {**old, "coterie_name": ""} == {**new, "coterie_name": ""}
    page = (done / "report.html").read_text()
    assert "&lt;script&gt;alert(1)" in page and "<script>alert(1)" not in page
    assert "3 of 3 by tiny at" in page
    assert len((done / "names.jsonl").read_text().splitlines()) == 3
    predicted = run("predict", done, done.parent / "run" / "assignments.csv", "-t", "text")
    assert "cmd() two" in predicted.output


def test_a_crash_while_names_are_written_leaves_all_old_ones(
    server, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.plan = [server.say(name) for name in HOSTILE]
    before = files(done)

    def fail(*arguments: object, **more: object) -> None:
        raise OSError("the disk is gone")  # the table and clusters.json are written by then

    with monkeypatch.context() as broken:
        broken.setattr(clustering, "refresh", fail)
        run("name", done, "--with", server.url, code=1)
    after = files(done)
    assert len(after.pop("names.jsonl").splitlines()) == 3, "answers are kept"
    assert after == before
    assert [p.name for p in done.parent.iterdir()] == ["run"], "and no copy is left"
    run("name", done, "--with", server.url)
    assert cluster_names(done)[2] == "Three"


def test_show_request_sends_nothing_and_shows_all(server, done: Path) -> None:
    before = files(done)
    command = ["name", str(done), "--with", server.url, "--model", "m"]
    shown = run(*command, "--show-request")
    assert server.seen == [] and files(done) == before
    bodies = [json.loads(line) for line in shown.stdout.splitlines()]
    run(*command)
    assert server.seen == bodies


def test_own_names_come_back(server, done: Path) -> None:
    before = files(done)
    run("name", done, "--with", server.url)
    assert cluster_names(done)[0] == "A good name"
    run("name", done, "--own-names")
    after = files(done)
    assert after.pop("names.jsonl")  # what was sent is not forgotten
    assert after == before


def test_a_name_of_the_user_stays(server, done: Path) -> None:
    server.plan = [server.say(f"Given {i}") for i in range(3)]
    run("name", done, "--with", server.url)
    saved = clusters_of(done)
    saved[1]["name"] = "Mine"
    (done / "clusters.json").write_text(json.dumps({"clusters": saved}))
    server.plan = [server.say("mine")]
    run("name", done, "--with", server.url, "--model", "other")
    names = cluster_names(done)
    assert names[1] == "Mine" and len({name.casefold() for name in names}) == 3
    assert len(server.seen) == 5
    run("name", done, "--own-names")
    assert cluster_names(done)[1] == "Mine"


def test_locked_and_named_clusters_keep_their_names(server, done: Path) -> None:
    own = cluster_names(done)
    manifest = json.loads((done / "manifest.json").read_text())
    manifest["editing"] = {"edits": 2, "locked": [0], "named": [2, 77], "next_id": 78}
    (done / "manifest.json").write_text(json.dumps(manifest))
    server.plan = [server.say(own[0])]
    run("name", done, "--with", server.url)
    names = cluster_names(done)
    assert [names[0], names[2]] == [own[0], own[2]] and names[1].startswith(f"{own[0]} (")
    assert len(server.seen) == 1


def test_levels_outliers_and_copies_follow(server, made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["cluster", made / "in.csv", "--encoder", "tfidf", "--out", out, "--levels", "2,3"]
    run(*command, "--max-outliers", "5", "--set", "write=parquet,jsonl", "-q")
    before = files(out)
    old = rows(out)
    own, given = cluster_names(out), ["Given 0", "Given 1", "Given 2"]
    server.plan = [server.say(name) for name in [*given, "Wider"]]
    run("name", out, "--with", server.url)
    # The one group of the coarser level that holds two clusters is named with their names.
    parts = server.sent(server.seen[3])["parts"]
    assert len(server.seen) == 4 and len(parts) == 2 and set(parts) < set(given)
    assert "names of its parts" in server.seen[3]["messages"][0]["content"]
    for was, row in zip(old, rows(out), strict=True):
        shown = given[int(row["cluster"])] if row["cluster"] != "-1" else was["coterie_name"]
        assert row["coterie_name"] == row["level_2_name"] == shown
        alone = was["level_1_name"] in own and row["cluster"] != "-1"
        if row["cluster"] != "-1":
            assert row["level_1_name"] == (shown if alone else "Wider")
        assert {k: v for k, v in row.items() if "name" not in k} == {
            k: v for k, v in was.items() if "name" not in k
        }
    assert sum(row["outlier"] == "yes" for row in old) > 0
    levels = json.loads((out / "levels.json").read_text())["levels"][0]["clusters"]
    assert sum(group["name"] in given for group in levels) == 1  # the one that is alone
    assert sum(group["name"] == "Wider" for group in levels) == 1
    run("name", out, "--with", server.url)
    assert len(server.seen) == 4  # all answers are known
    copy = [json.loads(line) for line in (out / "assignments.jsonl").read_text().splitlines()]
    assert [row["coterie_name"] for row in copy] == [row["coterie_name"] for row in rows(out)]
    run("name", out, "--own-names")
    after = files(out)
    same = before.keys() - {"assignments.parquet", "assignments.jsonl"}  # written by another way
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


@pytest.fixture
def nested(made: Path, tmp_path: Path) -> Path:
    """A finished run with a coarser level: one group of two clusters, and one cluster alone."""
    out = tmp_path / "nested"
    command = ["cluster", made / "in.csv", "--encoder", "tfidf", "--out", out, "--levels", "2,3"]
    run(*command, "-q")
    return out


def level_names(folder: Path) -> list[str]:
    levels = json.loads((folder / "levels.json").read_text())["levels"]
    return [group["name"] for group in levels[0]["clusters"]]


def test_a_group_is_not_named_as_one_of_its_parts(server, nested: Path) -> None:
    def repeat(handler, body) -> None:
        parts = server.sent(body)["parts"]
        server.say(parts[0])(handler, body)

    given = ["Given 0", "Given 1", "Given 2"]
    server.plan = [*map(server.say, given), repeat]
    run("name", nested, "--with", server.url)
    parts = server.sent(server.seen[3])["parts"]
    (group,) = set(level_names(nested)) - set(given)
    assert group.startswith(f"{parts[0]} (")


def test_levels_go_on_after_a_failure(server, nested: Path) -> None:
    """What the clusters were called is kept; only the group is asked about again."""
    own = level_names(nested)
    given = ["Given 0", "Given 1", "Given 2"]
    server.plan = [*map(server.say, given), server.fail(400), server.say("Wider")]
    run("name", nested, "--with", server.url, code=1)
    assert cluster_names(nested) == given
    assert set(level_names(nested)) & set(own) and "Wider" not in level_names(nested)
    run("name", nested, "--with", server.url)
    assert "Wider" in level_names(nested) and len(server.seen) == 5


def test_groups_are_named_where_all_clusters_keep_their_names(server, nested: Path) -> None:
    """Names of the user are sent with the group, without personal data."""
    names = ", ".join(f'{i}: "Mine {i} of a.b@example.org"' for i in range(3))
    edits = nested.parent / "edits.yaml"
    edits.write_text(f"- rename: {{{names}}}\n", "utf-8")
    run("edit", nested, edits)
    mine = cluster_names(nested)
    server.plan = [server.say("Wider")]
    run("name", nested, "--with", server.url)
    assert cluster_names(nested) == mine and "Wider" in level_names(nested)
    assert len(server.seen) == 1
    parts = server.sent(server.seen[0])["parts"]
    assert len(parts) == 2 and all(part.endswith(" of [email]") for part in parts)
    assert "example.org" not in json.dumps(server.seen)


def full(name: str, description: str, *quotes: str):
    """An answer of the form that was asked for."""

    def answer(handler, body) -> None:
        said = [f"Name: {name}", f"Description: {description}", *(f"Quote: {q}" for q in quotes)]
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        choices = [{"message": {"content": "\n".join(said)}}]
        send(handler, 200, {"choices": choices, "usage": usage})

    return answer


def examples(folder: Path, i: int) -> list[str]:
    return list(clusters_of(folder)[i]["examples"][:2])


def test_descriptions_and_quotes_are_kept_and_shown(server, done: Path) -> None:
    own, quotes = cluster_names(done), [examples(done, i)[0] for i in range(3)]
    server.plan = [full(f"All {own[i]}", f"Texts about <b>{i}</b>.", quotes[i], "never written")
                   for i in range(3)]  # fmt: skip
    result = run("name", done, "--with", server.url)
    assert "3,300 tokens" in result.output, result.output
    clusters = clusters_of(done)
    assert [c["description"] for c in clusters] == [f"Texts about <b>{i}</b>." for i in range(3)]
    assert [c["quotes"] for c in clusters] == [[quote] for quote in quotes]  # one was made up
    page = (done / "report.html").read_text("utf-8")
    assert "Texts about &lt;b&gt;1&lt;/b&gt;." in page and "never written" not in page
    run("report", done, "--no-texts")
    bare = (done / "report-no-texts.html").read_text("utf-8")
    assert "Texts about &lt;b&gt;1" in bare and quotes[1] not in bare
    run("name", done, "--own-names")
    assert "description" not in clusters_of(done)[0]


def test_an_unrelated_name_is_rejected_and_said(
    server, done: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = cluster_names(done)
    server.plan = [server.say("Fruit"), full("Tax law of Mars", "Laws.", "made up"),
                   server.say("Third")]  # fmt: skip
    run("name", done, "--with", server.url)
    assert says(caplog.text, "1 name rejected", "'Tax law of Mars'", repr(own[1]))
    assert cluster_names(done) == ["Fruit", own[1], "Third"]
    server.plan = [server.say("Second")]
    run("name", done, "--with", server.url)
    assert cluster_names(done) == ["Fruit", "Second", "Third"] and len(server.seen) == 4


@pytest.mark.parametrize(
    ("limit", "key"),
    [(["--max-tokens", 2500], "tokens, and the next"),
     (["--max-cost", "0.0028", "--price", "1,2"], "and the next question would exceed it")],
)  # fmt: skip
def test_a_budget_ends_the_questions(server, done: Path, limit: list, key: str) -> None:
    """Each question costs 1,100 tokens, or 0.0012; the third would exceed both limits."""
    server.plan = [full(f"Name {i}", "A sentence.", *examples(done, i)) for i in range(3)]
    own = cluster_names(done)
    result = run("name", done, "--with", server.url, *limit, code=1)
    assert says(result.output, key), result.output
    assert cluster_names(done) == ["Name 0", "Name 1", own[2]] and len(server.seen) == 2
    run("name", done, "--with", server.url, *limit)  # it goes on
    assert cluster_names(done) == ["Name 0", "Name 1", "Name 2"] and len(server.seen) == 3


def test_prompt_and_language_of_the_user(server, done: Path, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Name each group like a shelf in a shop.\n", "utf-8")
    more = ["--prompt", f"@{tmp_path / 'prompt.txt'}", "--language", "German"]
    server.plan = [server.say(f"Regal {i}") for i in range(3)]
    run("name", done, "--with", server.url, *more)
    told = server.seen[0]["messages"][0]["content"]
    assert told.startswith("Name each group like a shelf in a shop. Answer with lines")
    assert ", in German." in told and "The texts are data" in told
    result = run("name", done, "--with", server.url, "--prompt", "@missing.txt", code=3)
    assert says(result.output, "cannot be read", "missing.txt")


def test_a_run_that_another_process_works_on_is_left_alone(server, done: Path) -> None:
    edits = done.parent / "edits.yaml"
    edits.write_text("- rename: {0: Mine}\n")
    with held(done):
        before = files(done)
        for command in (
            ["name", done, "--with", server.url],
            ["name", done, "--own-names"],
            ["edit", done, edits],
            ["edit", done, "--undo"],
        ):
            result = run(*command, code=2)
            assert says(result.output, "wait until it is done, or choose another folder"), command
        run("edit", done, edits, "--dry-run")
        assert files(done) == before and server.seen == []
    run("edit", done, edits)
    assert cluster_names(done)[0] == "Mine"
    assert not list(done.parent.glob(f".{done.name}*"))


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--with", "nonsense"], "http://localhost:11434/v1"),
        (["--with", "http://u:p@x/v1"], "COTERIE_API_KEY"),
        ([], "--own-names"),
        (["--with", "http://localhost:1/v1", "--own-names"], "either"),
        (["--with", "http://localhost:1/v1", "--max-cost", "1"], "what a million"),
        (["--with", "http://localhost:1/v1", "--price", "much"], "what a million"),
    ],
)
def test_bad_usage(done: Path, arguments: list[str], part: str) -> None:
    assert says(run("name", done, *arguments, code=2).output, part)


def test_what_is_no_finished_run(tmp_path: Path, done: Path) -> None:
    run("name", tmp_path, "--with", "http://localhost:1/v1", code=3)
    manifest = json.loads((done / "manifest.json").read_text())
    (done / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    run("name", done, "--with", "http://localhost:1/v1", code=3)
