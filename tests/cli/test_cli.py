"""The command line as users meet it: files in, files out, exit codes, messages."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

import coterie
from commands import rows, run, write_csv
from said import says


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory, topics) -> Path:
    rows = [(f"{i:03}", *both) for i, both in enumerate(zip(*topics, strict=True))]
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    return write_csv(path, ("id", "text", "topic"), *rows, ("090", "", "none"))


@pytest.fixture(scope="module")
def done(tickets: Path) -> Path:
    """A finished run."""
    out = tickets.parent / "run"
    run("cluster", tickets, "-k", "3", "--encoder", "tfidf", "--out", out)
    return out


def test_version_and_help() -> None:
    assert run("--version").output.strip() == f"coterie {coterie.__version__}"
    assert "cluster" in run("--help").output
    assert "assignments.csv" in run("cluster", "--help").output


def test_help_and_lists_import_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from coterie.cli import app\n"
        "heavy = {'torch', 'sklearn', 'transformers', 'pyarrow', 'scipy', 'numpy', 'jinja2'}\n"
        "assert not heavy & set(sys.modules)\n"
        "assert 'sccl' in CliRunner().invoke(app, ['methods']).output\n"
        "assert not {'torch', 'sklearn', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.full
def test_the_run_folder_is_complete(done: Path) -> None:
    names = {p.name for p in done.iterdir()}
    assert names == {
        "assignments.csv", "clusters.json", "map.json", "report.html", "model", "manifest.json"
    }  # fmt: skip
    manifest = json.loads((done / "manifest.json").read_text())
    assert manifest["parameters"]["random_state"] == 0
    assert {"versions", "hardware", "seconds", "data", "seed"} <= manifest.keys()


def test_all_columns_and_the_order_come_back(done: Path, tickets: Path) -> None:
    before, after = rows(tickets), rows(done / "assignments.csv")
    assert [{k: r[k] for k in ("id", "text", "topic")} for r in after] == before
    assert list(after[0]) == [
        "id", "text", "topic", "cluster", "name", "confidence", "runner_up", "margin", "outlier",
        "outlier_score", "broad", "broad_name",
    ]  # fmt: skip
    assert after[-1]["cluster"] == "-1" and after[-1]["name"] == "(no text)"
    names = {
        str(c["id"]): c["name"]
        for c in json.loads((done / "clusters.json").read_text())["clusters"]
    }
    for row in after[:-1]:
        assert 0 <= float(row["margin"]) <= float(row["confidence"]) <= 1
        assert row["runner_up"] != row["cluster"] and row["name"] == names[row["cluster"]]


def test_json_goes_to_stdout_and_talk_to_stderr(tickets: Path, tmp_path: Path) -> None:
    done = run("cluster", tickets, "-k", 3, "--encoder", "tfidf", "--json", "--out", tmp_path / "o")
    assert len(json.loads(done.stdout)) == 3
    assert "91 rows" in done.stderr and "1 row (91)" in done.stderr


def test_prediction_to_stdout_and_from_stdin(done: Path) -> None:
    result = run("predict", done, "-", stdin="ripe apple juice\nbus engine\n")
    lines = list(csv.DictReader(result.stdout.splitlines()))
    assert [r["text"] for r in lines] == ["ripe apple juice", "bus engine"]
    assert lines[0]["cluster"] != lines[1]["cluster"]


def test_prediction_with_a_model_folder_alone(done: Path, tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    run("predict", done / "model", tickets, "-o", out)
    first = json.loads(out.read_text().splitlines()[0])
    assert first["name"] == f"Cluster {first['cluster']}"


def test_evaluate(done: Path) -> None:
    table = str(done / "assignments.csv")
    result = run("evaluate", table, "--labels", "topic", "--ignore", "none", "--json")
    scores = json.loads(result.stdout)
    assert scores["rows"] == 90 and scores["acc"] > 0.9
    assert "purity" in run("evaluate", table, "-l", "topic").output


def test_methods_and_one_method() -> None:
    assert "sccl" in run("methods").output
    shown = run("methods", "sccl").output
    assert "temperature" in shown and "official-code" in shown and "NAACL" in shown
    assert json.loads(run("methods", "ward", "--json").output)["parameters"]["cluster"] == "ward"


def test_settings_reach_the_method(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    run("cluster", tickets, "-k", "3", "-m", "sccl", "--encoder", "tfidf", "-q",
                 "--set", "steps=3", "--set", "objective=instance", "--set", "guard=false",
                 "--set", "preset=official-code", "--set", "views=virtual", "--seed", "5",
                 "--out", str(out))  # fmt: skip
    parameters = json.loads((out / "manifest.json").read_text())["parameters"]
    assert parameters["steps"] == 3 and parameters["objective"] == "instance"
    assert parameters["guard"] is False and parameters["head_lr"] == 1e-3
    assert json.loads((out / "manifest.json").read_text())["seed"] == 5
    assert len((out / "history.jsonl").read_text().splitlines()) == 1


def test_a_finished_run_is_not_overwritten_by_accident(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    command = ["cluster", str(tickets), "-k", "3", "--encoder", "tfidf", "-q", "--out", str(out)]
    run(*command)
    refused = run(*command, code=2)
    assert says(refused.output, "holds a run")
    run("export", out, "--to", "jsonl")
    assert (out / "assignments.jsonl").exists()
    run(*command, "--overwrite")
    assert not (out / "assignments.jsonl").exists()  # of the earlier run


def test_the_guard_is_named_in_manifest_and_summary(tiny_encoder, tickets, tmp_path) -> None:
    out = tmp_path / "o"
    result = run("cluster", tickets, "-k", "3", "-m", "sccl", "--encoder", tiny_encoder,
                 "--set", "steps=25", "--set", "batch_size=30", "--set", "lr=10",
                 "--set", "head_lr=10", "--out", str(out))  # fmt: skip
    assert says(result.output, "These are the clusters")
    assert json.loads((out / "manifest.json").read_text())["guard"]["fired"] is True
    assert "start guard" in (out / "report.html").read_text()


def test_a_closed_pipe_is_no_drama(done: Path, tickets: Path, warm_python) -> None:
    command = f"{' '.join(warm_python)} -m coterie predict {done} {tickets} | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("id,text,topic,cluster")
    assert "Traceback" not in result.stderr


def test_topics_are_printed_saved_and_on_the_page(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    small = ["steps=20", "head_lr=0.01", "lr=0.001", "batch_size=30", "n_topics=2", "word_dim=10"]
    small.append("guard=false")  # twenty steps on a few texts may be worse than their start
    options = [part for pair in small for part in ("--set", pair)]
    command = ["cluster", str(tickets), "-k", "3", "--encoder", "tfidf", "-m", "deccrl"]
    result = run(*command, *options, "--out", out, "-q")
    clusters = json.loads((out / "clusters.json").read_text())["clusters"]
    for cluster in clusters:
        assert [len(words) for words in cluster["topics"]] == [10, 10]
        shown = " | ".join(" ".join(words[:4]) for words in cluster["topics"])
        assert f"{cluster['name']}: {shown}" in result.output
    page = (out / "report.html").read_text()
    assert ", ".join(clusters[0]["topics"][0]) in page
    run("report", out)  # made anew from the saved files
    assert (out / "report.html").read_text() == page


def test_without_a_number_one_is_found_and_explained(tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    result = run(
        "cluster", str(tickets), "--encoder", "tfidf", "--set", "effort=quick", "--out", str(out)
    )
    manifest = json.loads((out / "manifest.json").read_text())
    choice = manifest["number_of_clusters"]
    fine = choice["levels"]["fine"]
    assert fine == manifest["parameters"]["n_clusters"] > choice["n_clusters"] > 1
    assert choice["low"] <= choice["n_clusters"] <= choice["high"]
    assert choice["reason"] in manifest["summary"] and choice["reason"] in result.output
    asked = [result.output.index(said) for said in ("about?", "growing?", "attention?", "#  texts")]
    assert asked == sorted(asked) and asked[-1] < result.output.rindex(choice["reason"])
    refused = run("cluster", tickets, "--method", "kmeans", "--set", "effort=quick", "-k", "3",
                  "--out", str(tmp_path / "p"), code=2)  # fmt: skip
    assert says(refused.output, "does not take it")


def test_evaluate_leaves_rows_without_text_out_and_takes_our_column(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    rows = ["x,0,1,A", "y,0,2,B", "x,1,1,A", "y,1,-1,(no text)"]
    table.write_text("theme,cluster,coterie_cluster,name\n" + "\n".join(rows) + "\n", "utf-8")
    found = run("evaluate", table, "-l", "theme")
    assert "column 'coterie_cluster', not from 'cluster'" in found.output
    assert "1 row without a text" in found.output and "3 rows, scores" in found.output
    assert "nmi" in found.output and "100.00" in found.output
    table.write_text("theme,cluster\nx,0\ny,-1\n", "utf-8")
    assert (
        "1 row in cluster -1: counted as one cluster"
        in run("evaluate", table, "-l", "theme").output
    )


def test_evaluate_leaves_empty_labels_out_and_says_so(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    rows = ["x,0,A", "y,1,B", ",1,B", "  ,0,A", "x,,", "skip,1,B"]
    table.write_text("theme,cluster,name\n" + "\n".join(rows) + "\n", "utf-8")
    found = run("evaluate", table, "-l", "theme", "--ignore", "skip", "--json")
    scores = json.loads(found.stdout)
    assert scores["rows"] == 2 and scores["acc"] == 1 and scores["cluster_column"] == "cluster"
    left = {"without a true label": 2, "without a cluster": 1, "with a label to ignore": 1}
    assert scores["left_out"] == left
    assert "2 rows without a true label" in found.stderr and "'theme'" in found.stderr
    table.write_text("theme,cluster\n,1\n,2\n", "utf-8")
    nothing = run("evaluate", table, "-l", "theme", code=3)
    assert says(nothing.output, "no row has both")


def test_a_table_that_was_clustered_again(tmp_path: Path) -> None:
    """The newest column is taken, its names with it, and both verbs say so."""
    table = tmp_path / "twice.csv"
    head = "text,theme,cluster,name,coterie_cluster,coterie_name"
    lines = [f"text {i},t{i % 3},{i % 2},old{i % 2},{i % 3},new{i % 3}" for i in range(12)]
    table.write_text("\n".join([head, *lines]) + "\n", "utf-8")
    scored = run("evaluate", table, "-l", "theme", "--json")
    assert json.loads(scored.stdout)["ari"] == 1 and "'coterie_cluster'" in scored.stderr
    older = run("evaluate", table, "-l", "theme", "-c", "cluster", "--json")
    assert json.loads(older.stdout)["ari"] < 0.5 and "column 'cluster', not from" in older.stderr
    found = run("compare", table, table, "--a-column", "theme", "--json")
    assert {c["name"] for c in json.loads(found.stdout)["clusters_b"]} == {"new0", "new1", "new2"}
    assert "twice.csv: clusters from the column 'coterie_cluster'" in found.stderr
    assert "twice.csv: clusters from the column 'theme'" in found.stderr


def test_repeated_ids_are_told_and_identical_data_have_not_moved(tmp_path: Path) -> None:
    lines = [f"{i // 2},text number {i},{i % 2}" for i in range(12)]
    for name, given in (("a.csv", lines), ("b.csv", lines[::-1])):
        (tmp_path / name).write_text("\n".join(["id,text,cluster", *given]) + "\n", "utf-8")
    both = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    found = json.loads(run("compare", *both, "--id-column", "id", "--json").stdout)
    assert found["moved"] == 0
    said = run("compare", *both, "--id-column", "id").output
    assert "ids name several rows" in " ".join(said.split())


@pytest.mark.parametrize(
    ("option", "value"),
    [("--method", "kmens"), ("--set", "effort=turbo"), ("--device", "tpu"), ("--set", "foo=1")],
)
def test_options_are_checked_before_the_texts_are_read(option: str, value: str, tmp_path) -> None:
    """Which may take long: here they are not even there."""
    found = run("cluster", tmp_path / "nowhere.csv", option, value, code=2)
    assert (value.partition("=")[0] if option == "--set" else option.strip("-")) in found.output
    assert "nowhere" not in found.output and not list(tmp_path.iterdir())
