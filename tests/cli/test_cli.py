"""The command line as users meet it: files in, files out, exit codes, messages."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import coterie
from by_key import says
from coterie.cli import app


def run(*arguments: str, stdin: str | None = None):
    return CliRunner().invoke(app, list(arguments), input=stdin)


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "topic"])
        for i, (text, topic) in enumerate(zip(*topics, strict=True)):
            writer.writerow([f"{i:03}", text, topic])
        writer.writerow(["090", "", "none"])
    return path


@pytest.fixture(scope="module")
def done(tickets: Path) -> Path:
    """A finished run."""
    out = tickets.parent / "run"
    result = run("cluster", str(tickets), "-k", "3", "--encoder", "tfidf", "--out", str(out))
    assert result.exit_code == 0, result.output
    return out


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_version_and_help() -> None:
    assert run("--version").output.strip() == f"coterie {coterie.__version__}"
    assert "cluster" in run("--help").output
    assert "assignments.csv" in run("cluster", "--help").output


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from coterie.cli import app\n"
        "heavy = {'torch', 'sklearn', 'transformers', 'pyarrow', 'scipy', 'numpy', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_listing_methods_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from coterie.cli import app\n"
        "assert 'sccl' in CliRunner().invoke(app, ['methods']).output\n"
        "print(sorted({'torch', 'sklearn', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_run_folder_is_complete(done: Path) -> None:
    names = {p.name for p in done.iterdir()}
    assert names == {
        "assignments.csv", "clusters.json", "map.json", "report.html", "model", "manifest.json"
    }  # fmt: skip
    manifest = json.loads((done / "manifest.json").read_text())
    assert manifest["status"] == "done"
    assert manifest["parameters"]["random_state"] == 0
    assert {"versions", "hardware", "seconds", "data", "seed"} <= manifest.keys()


def test_all_columns_and_the_order_come_back(done: Path, tickets: Path) -> None:
    before, after = rows(tickets), rows(done / "assignments.csv")
    assert [{k: r[k] for k in ("id", "text", "topic")} for r in after] == before
    assert list(after[0]) == [
        "id", "text", "topic", "cluster", "name", "confidence", "runner_up", "margin", "outlier",
        "outlier_score",
    ]  # fmt: skip
    assert after[-1]["cluster"] == "-1" and after[-1]["name"] == "(no text)"
    for row in after[:-1]:
        assert 0 <= float(row["margin"]) <= float(row["confidence"]) <= 1
        assert row["runner_up"] != row["cluster"]


def test_names_in_the_table_are_those_in_the_json(done: Path) -> None:
    clusters = json.loads((done / "clusters.json").read_text())
    names = {str(c["id"]): c["name"] for c in clusters}
    assert all(r["name"] == names[r["cluster"]] for r in rows(done / "assignments.csv")[:-1])
    assert [c["size"] for c in clusters] == sorted((c["size"] for c in clusters), reverse=True)


def test_the_summary_says_where_things_lie(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    result = run("cluster", str(tickets), "-k", "3", "--encoder", "tfidf", "--out", str(out))
    for part in ("report.html", "assignments.csv", "model", "90 of 91 texts are in 3 clusters"):
        assert part in result.output


def test_the_default_folder_lies_beside_the_file(tickets: Path) -> None:
    result = run("cluster", str(tickets), "-k", "3", "--encoder", "bow", "-q")
    assert result.exit_code == 0
    assert (tickets.parent / "tickets.clusters" / "report.html").exists()


def test_json_goes_to_stdout_and_talk_to_stderr(tickets: Path, tmp_path, warm_python) -> None:
    command = [*warm_python, "-m", "coterie", "cluster", str(tickets), "-k", "3"]
    command += ["--encoder", "tfidf", "--json", "--out", str(tmp_path / "o")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)) == 3
    assert "91 rows, texts in the column 'text'" in done.stderr
    assert "1 row (91): no text" in done.stderr


def test_prediction_repeats_the_run(done: Path, tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.csv"
    assert run("predict", str(done), str(tickets), "--out", str(out)).exit_code == 0
    assert rows(out) == rows(done / "assignments.csv")


def test_prediction_to_stdout_and_from_stdin(done: Path) -> None:
    result = run("predict", str(done), "-", stdin="ripe apple juice\nbus engine\n")
    lines = list(csv.DictReader(result.stdout.splitlines()))
    assert [r["text"] for r in lines] == ["ripe apple juice", "bus engine"]
    assert lines[0]["cluster"] != lines[1]["cluster"]


def test_prediction_with_a_model_folder_alone(done: Path, tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    assert run("predict", str(done / "model"), str(tickets), "-o", str(out)).exit_code == 0
    first = json.loads(out.read_text().splitlines()[0])
    assert first["name"] == f"Cluster {first['cluster']}"


def test_report_is_made_anew(done: Path) -> None:
    before = (done / "report.html").read_text()
    (done / "report.html").unlink()
    assert run("report", str(done)).exit_code == 0
    assert (done / "report.html").read_text() == before


def test_evaluate(done: Path) -> None:
    table = str(done / "assignments.csv")
    result = run("evaluate", table, "--labels-column", "topic", "--ignore", "none", "--json")
    scores = json.loads(result.stdout)
    assert scores["rows"] == 90 and scores["acc"] > 0.9
    assert "purity" in run("evaluate", table, "-l", "topic").output


def test_methods_and_one_method() -> None:
    assert "sccl" in run("methods").output
    shown = run("methods", "sccl").output
    assert "temperature" in shown and "official-code" in shown and "NAACL" in shown
    assert json.loads(run("methods", "ward", "--json").output)["parameters"]["cluster"] == "ward"


@pytest.mark.parametrize("verb", ["bench papers --data x", "datasets", "inspect stages run"])
def test_verbs_of_the_benchmarks_say_where_they_are(verb: str) -> None:
    result = run(*verb.split())
    assert result.exit_code == 2 and says(result.output, "cli.moved", verb=verb.split()[0])


def test_settings_reach_the_method(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    result = run("cluster", str(tickets), "-k", "3", "-m", "sccl", "--encoder", "tfidf", "-q",
                 "--set", "steps=3", "--set", "objective=instance", "--set", "guard=false",
                 "--preset", "official-code", "--views", "virtual", "--seed", "5",
                 "--out", str(out))  # fmt: skip
    assert result.exit_code == 0, result.output
    parameters = json.loads((out / "manifest.json").read_text())["parameters"]
    assert parameters["steps"] == 3 and parameters["objective"] == "instance"
    assert parameters["guard"] is False and parameters["head_lr"] == 1e-3
    assert json.loads((out / "manifest.json").read_text())["seed"] == 5
    assert len((out / "history.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["cluster", "FILE", "-k", "three"], 2, "whole number from 1 on, or auto"),
        (["cluster", "FILE", "-k", "0"], 2, "--clusters"),
        (["cluster", "FILE", "-k", "3", "-m", "kmean"], 2, "Did you mean 'kmeans'"),
        (["cluster", "FILE", "-k", "3", "--set", "stepps=3"], 2, "stepps"),
        (["cluster", "FILE", "-k", "3", "--set", "steps"], 2, "KEY=VALUE"),
        (["cluster", "FILE", "-k", "3", "--device", "tpu"], 2, "device"),
        (["cluster", "FILE", "-k", "3", "--preset", "x"], 2, "preset"),
        (["cluster", "FILE", "-k", "3", "-m", "ward", "--views", "x.csv"], 2, "takes no views"),
        (["cluster", "nowhere.csv", "-k", "3"], 2, "no file"),
        (["cluster", "FILE", "-k", "3", "-t", "txt"], 3, "Did you mean 'text'"),
        (["cluster", "FILE", "-k", "500", "--encoder", "tfidf"], 3, "at most 90"),
        (["cluster", "FILE", "-k", "3", "--encoder", "no/such-model"], 1, "hub:no/such-model"),
        (["predict", "FOLDER", "FILE"], 3, "holds no model"),
        (["evaluate", "FILE", "-l", "topics"], 3, "Did you mean 'topic'"),
        (["report", "FOLDER"], 3, "no run"),
        (["methods", "scl"], 2, "Did you mean 'sccl'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_mistakes_get_a_clear_message_and_the_right_code(
    arguments: list[str], code: int, message: str, tickets: Path, tmp_path: Path
) -> None:
    known = {"FILE": str(tickets), "FOLDER": str(tmp_path)}
    given = [known.get(argument, argument) for argument in arguments]
    if given[0] == "cluster":
        given += ["--out", str(tmp_path / "o")]
    result = run(*given)
    assert result.exit_code == code, result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_standard_input_needs_a_folder() -> None:
    result = run("cluster", "-", "-k", "2", "--encoder", "tfidf", stdin="a cat\nthe dog\n")
    assert result.exit_code == 2 and says(result.output, "cli.out_needed")


def test_a_finished_run_is_not_overwritten_by_accident(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    command = ["cluster", str(tickets), "-k", "3", "--encoder", "tfidf", "-q", "--out", str(out)]
    assert run(*command).exit_code == 0
    refused = run(*command)
    assert refused.exit_code == 2 and says(refused.output, "run.taken_done")
    assert run("export", str(out), "--to", "tsv").exit_code == 0
    assert (out / "assignments.tsv").exists()
    assert run(*command, "--overwrite").exit_code == 0
    assert not (out / "assignments.tsv").exists()  # of the earlier run
    assert "finished" in run(*command, "--resume").output
    changed = [*command[:3], "4", *command[4:]]
    other = run(*changed, "--resume")
    assert other.exit_code == 2 and "--clusters: 3 there, 4 now" in other.output


def test_a_folder_of_something_else_is_left_alone(tickets: Path, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("x")
    result = run("cluster", str(tickets), "-k", "3", "--out", str(tmp_path), "--overwrite")
    assert result.exit_code == 2 and (tmp_path / "precious.txt").exists()


def test_the_guard_is_named_in_manifest_and_summary(tiny_encoder, tickets, tmp_path) -> None:
    out = tmp_path / "o"
    result = run("cluster", str(tickets), "-k", "3", "-m", "sccl", "--encoder", str(tiny_encoder),
                 "--set", "steps=25", "--set", "batch_size=30", "--set", "lr=10",
                 "--set", "head_lr=10", "--out", str(out))  # fmt: skip
    assert result.exit_code == 0, result.output
    assert says(result.output, "summary.guard")
    assert json.loads((out / "manifest.json").read_text())["guard"]["fired"] is True
    assert "start guard" in (out / "report.html").read_text()


def test_a_closed_pipe_is_no_drama(done: Path, tickets: Path, warm_python) -> None:
    command = f"{' '.join(warm_python)} -m coterie predict {done} {tickets} | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("id,text,topic,cluster")
    assert "Traceback" not in result.stderr


def test_hostile_texts_cannot_paint_the_terminal(tmp_path: Path) -> None:
    texts = ["\x1b[31mred apple", "[bold]green apple[/bold]", "fast car", "slow car \x07"]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": t}) for t in texts))
    result = run("cluster", str(tmp_path / "a.jsonl"), "-k", "2", "--encoder", "bow",
                 "--out", str(tmp_path / "o"))  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "\x1b[31m" not in result.output and "\x07" not in result.output
    assert "[bold]green apple[/bold]" in result.output or "[31mred apple" in result.output


def test_topics_are_printed_saved_and_on_the_page(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    small = ["steps=20", "head_lr=0.01", "lr=0.001", "batch_size=30", "n_topics=2", "word_dim=10"]
    small.append("guard=false")  # twenty steps on a few texts may be worse than their start
    options = [part for pair in small for part in ("--set", pair)]
    command = ["cluster", str(tickets), "-k", "3", "--encoder", "tfidf", "-m", "deccrl"]
    result = run(*command, *options, "--out", str(out), "-q")
    assert result.exit_code == 0, result.output
    clusters = json.loads((out / "clusters.json").read_text())
    for cluster in clusters:
        assert [len(words) for words in cluster["topics"]] == [10, 10]
        shown = " | ".join(" ".join(words[:4]) for words in cluster["topics"])
        assert f"{cluster['name']}: {shown}" in result.output
    page = (out / "report.html").read_text()
    assert ", ".join(clusters[0]["topics"][0]) in page
    assert run("report", str(out)).exit_code == 0  # made anew from the saved files
    assert (out / "report.html").read_text() == page
    assert "\ntopics" not in run("cluster", str(tickets), "-k", "3", "--encoder", "tfidf", "-q",
                               "--out", str(tmp_path / "plain")).output  # fmt: skip


def test_without_a_number_one_is_found_and_explained(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    result = run(
        "cluster", str(tickets), "--encoder", "tfidf", "--effort", "quick", "--out", str(out)
    )
    assert result.exit_code == 0, result.output
    manifest = json.loads((out / "manifest.json").read_text())
    choice = manifest["number_of_clusters"]
    assert choice["n_clusters"] == manifest["parameters"]["n_clusters"] > 1
    assert choice["low"] <= choice["n_clusters"] <= choice["high"]
    assert choice["reason"] in manifest["summary"] and choice["reason"] in result.output
    refused = run("cluster", str(tickets), "--method", "kmeans", "--effort", "quick", "-k", "3",
                  "--out", str(tmp_path / "p"))  # fmt: skip
    assert refused.exit_code == 2 and says(refused.output, "cluster.effort_is_for_auto")


def test_a_taken_folder_is_refused_before_any_work(tickets: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    result = run("cluster", str(tickets.with_name("none.csv")), "--out", str(tmp_path))
    assert result.exit_code == 2 and says(
        result.output, "run.out_not_empty"
    )  # the file was not even read


def test_a_failed_run_leaves_nothing_and_an_older_one_is_replaced(
    tickets: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    command = ("cluster", str(tickets), "--encoder", "tfidf", "--out", str(out))
    failed = run(*command, "-k", "500")
    assert failed.exit_code == 3 and says(failed.output, "cluster.few_texts")
    assert not out.exists()
    out.mkdir()  # as version 0.1 left it
    manifest = {"status": "failed", "method": "auto", "parameters": {}, "data": {"sha256": ""}}
    (out / "manifest.json").write_text(json.dumps(manifest))
    (out / "checkpoint").mkdir()  # hours of training may be in there
    refused = run(*command, "-k", "3")
    assert refused.exit_code == 2 and "--resume" in refused.output
    (out / "checkpoint").rmdir()
    assert run(*command, "-k", "3").exit_code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "done" and "reason" not in manifest


def test_evaluate_leaves_rows_without_text_out_and_takes_our_column(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    rows = ["x,0,1,A", "y,0,2,B", "x,1,1,A", "y,1,-1,(no text)"]
    table.write_text("theme,cluster,coterie_cluster,name\n" + "\n".join(rows) + "\n", "utf-8")
    found = run("evaluate", str(table), "-l", "theme")
    assert "column 'coterie_cluster', not from 'cluster'" in found.output
    assert "1 row without a text" in found.output and "3 rows, scores" in found.output
    assert "nmi" in found.output and "100.00" in found.output
    table.write_text("theme,cluster\nx,0\ny,-1\n", "utf-8")
    assert (
        "1 row in cluster -1: counted as one cluster"
        in run("evaluate", str(table), "-l", "theme").output
    )


def test_evaluate_leaves_empty_labels_out_and_says_so(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    rows = ["x,0,A", "y,1,B", ",1,B", "  ,0,A", "x,,", "skip,1,B"]
    table.write_text("theme,cluster,name\n" + "\n".join(rows) + "\n", "utf-8")
    found = run("evaluate", str(table), "-l", "theme", "--ignore", "skip", "--json")
    assert found.exit_code == 0, found.output
    scores = json.loads(found.stdout)
    assert scores["rows"] == 2 and scores["acc"] == 1 and scores["cluster_column"] == "cluster"
    left = {"without a true label": 2, "without a cluster": 1, "with a label to ignore": 1}
    assert scores["left_out"] == left
    assert "2 rows without a true label" in found.stderr and "'theme'" in found.stderr
    table.write_text("theme,cluster\n,1\n,2\n", "utf-8")
    nothing = run("evaluate", str(table), "-l", "theme")
    assert nothing.exit_code == 3 and says(nothing.output, "cli.nothing_to_score")


def test_a_table_that_was_clustered_again(tmp_path: Path) -> None:
    """The newest column is taken, its names with it, and both verbs say so."""
    table = tmp_path / "twice.csv"
    head = "text,theme,cluster,name,coterie_cluster,coterie_name"
    lines = [f"text {i},t{i % 3},{i % 2},old{i % 2},{i % 3},new{i % 3}" for i in range(12)]
    table.write_text("\n".join([head, *lines]) + "\n", "utf-8")
    scored = run("evaluate", str(table), "-l", "theme", "--json")
    assert json.loads(scored.stdout)["ari"] == 1 and "'coterie_cluster'" in scored.stderr
    older = run("evaluate", str(table), "-l", "theme", "-c", "cluster", "--json")
    assert json.loads(older.stdout)["ari"] < 0.5 and "column 'cluster', not from" in older.stderr
    found = run("compare", str(table), str(table), "--a-column", "theme", "--json")
    assert found.exit_code == 0, found.output
    assert {c["name"] for c in json.loads(found.stdout)["clusters_b"]} == {"new0", "new1", "new2"}
    assert "twice.csv: clusters from the column 'coterie_cluster'" in found.stderr
    assert "twice.csv: clusters from the column 'theme'" in found.stderr


def test_repeated_ids_are_told_and_identical_data_have_not_moved(tmp_path: Path) -> None:
    lines = [f"{i // 2},text number {i},{i % 2}" for i in range(12)]
    for name, rows in (("a.csv", lines), ("b.csv", lines[::-1])):
        (tmp_path / name).write_text("\n".join(["id,text,cluster", *rows]) + "\n", "utf-8")
    both = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    found = json.loads(run("compare", *both, "--id-column", "id", "--json").stdout)
    assert found["moved"] == 0
    said = run("compare", *both, "--id-column", "id").output
    assert "6 ids name several rows ('0', '1', '2', ...)" in " ".join(said.split())


@pytest.mark.parametrize(
    ("row", "said"),
    [("only", "as many ',' as the header"), ("a,b,c", "double quotes around texts that hold ','")],
)
def test_rows_with_too_few_and_too_many_fields_have_remedies_of_their_own(
    tmp_path: Path, row: str, said: str
) -> None:
    file = tmp_path / "ragged.csv"
    file.write_text(f"id,text\n1,one\n{row}\n", "utf-8")
    found = run("cluster", str(file), "-k", "2")
    assert found.exit_code == 3 and said in " ".join(found.output.split())
    assert "more rows" not in found.output


@pytest.mark.parametrize(
    ("option", "value"),
    [("--method", "kmens"), ("--effort", "turbo"), ("--device", "tpu"), ("--set", "foo=1")],
)
def test_options_are_checked_before_the_texts_are_read(option: str, value: str, tmp_path) -> None:
    """Which may take long: here they are not even there."""
    found = run("cluster", str(tmp_path / "nowhere.csv"), option, value)
    assert found.exit_code == 2 and option.strip("-") in found.output
    assert "nowhere" not in found.output and not list(tmp_path.iterdir())
