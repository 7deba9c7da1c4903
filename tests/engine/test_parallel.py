"""Two processes come to the result of one."""

import csv
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from coterie import _ranks
from coterie.cli.app import app
from coterie.encoders import load_encoder
from coterie.encoders.base import TOKENS_PER_BATCH
from coterie.engine import parallel

WORKER = Path(__file__).with_name("parallel_worker.py")
SMALL = {"random_state": 0, "lr": 1e-3, "head_lr": 5e-3, "batch_size": 31, "guard": False}
FITS = {
    "sccl": {"method": "sccl", "steps": 12, "frequency": "corpus", "refresh_every": 4, **SMALL},
    "lora": {"method": "sccl", "steps": 12, "tune": "lora", **SMALL, "lr": 1e-2},
    "aecl": {"method": "aecl", "epochs": 6, "contrast_epochs": 2, "label_epochs": 2, **SMALL},
    "deccrl": {"method": "deccrl", "steps": 12, "word_dim": 20, **SMALL},
    "cluster-bert": {
        "method": "cluster-bert",
        "adapt_epochs": 2,
        "rounds": 1,
        "harden_epochs": 1,
        **SMALL,
    },
}


@pytest.fixture(scope="module")
def still_encoder(tiny_encoder: Path, tmp_path_factory) -> Path:
    """The tiny encoder without dropout, whose masks differ from process to process."""
    encoder = load_encoder(str(tiny_encoder))
    config = encoder.model[0].auto_model.config
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    folder = tmp_path_factory.mktemp("still") / "encoder"
    encoder.save(folder)
    again = load_encoder(str(folder)).model[0].auto_model
    assert again.encoder.layer[0].output.dropout.p == 0
    return folder


def together(*command: str, cwd: Path | None = None) -> str:
    """What two processes of the same command write to stdout, under torchrun."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return run(sys.executable, *launch, *command, cwd=cwd)


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


QUICK = ("sccl", "aecl")


@pytest.fixture(scope="module")
def task(still_encoder: Path, topics, request) -> dict:
    slow = request.config.getoption("--slow")
    fits = {name: fit for name, fit in FITS.items() if slow or name in QUICK}
    return {"texts": topics[0], "encoder": str(still_encoder), "fits": fits}


@pytest.fixture(scope="module")
def pair(task: dict, tmp_path_factory, warm_python: list[str]) -> list[dict]:
    """What each of two processes found."""
    folder = tmp_path_factory.mktemp("pair")
    (folder / "task.json").write_text(json.dumps(task))
    run(*warm_python, str(WORKER), str(folder))
    return [json.loads((folder / f"out-{i}.json").read_text()) for i in range(2)]


@pytest.fixture(scope="module")
def worker() -> dict:
    return runpy.run_path(str(WORKER))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in FITS]
)
def test_two_processes_come_to_the_result_of_one(name: str, pair, task, worker) -> None:
    one = worker["fit"](task, FITS[name])
    assert len(one["losses"]) >= 12
    for found in (process[name] for process in pair):
        np.testing.assert_allclose(found["losses"], one["losses"], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found["vectors"], one["vectors"], atol=1e-3)
        assert found["labels"] == one["labels"]
    # Both hold the very same network, and it is not the one they began with.
    assert pair[0][name] == pair[1][name]
    encoder = load_encoder(task["encoder"], normalize=False)
    items, rows = encoder.prepare(task["texts"])
    assert np.abs(encoder.encode(items)[rows] - one["vectors"]).max() > 0.01


def test_an_interrupted_pair_continues_to_the_same_result(pair) -> None:
    for process in pair:
        resumed, whole = process["resumed"], process["sccl"]
        assert resumed.pop("left")
        np.testing.assert_allclose(resumed["losses"], whole["losses"], rtol=1e-6)
        assert resumed["labels"] == whole["labels"]


def test_sharing_the_encoding_gives_the_same_bits(pair, task, worker, monkeypatch) -> None:
    monkeypatch.setitem(TOKENS_PER_BATCH, "cpu", 40)
    one = worker["encode"](task)
    assert [process["encoded"]["vectors"] for process in pair] == 2 * [one["vectors"]]
    shares = [process["encoded"]["share"] for process in pair]
    assert min(shares) > one["share"] / 3 and sum(shares) == one["share"]


def test_without_a_seed_all_processes_take_that_of_the_first(pair) -> None:
    assert pair[0]["seedless"] == pair[1]["seedless"]


def test_different_texts_are_refused(pair) -> None:
    assert all("different texts or settings" in process["error"] for process in pair)


@pytest.mark.slow
def test_the_command_writes_one_folder_and_says_things_once(
    still_encoder: Path, topics, tmp_path: Path
) -> None:
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in topics[0])])
    options = ["--clusters", "3", "--method", "sccl", "--encoder", str(still_encoder), "--set"]
    options += ["steps=6", "--set", "lr=0.001", "--set", "guard=false", "--device", "cpu"]
    out, alone = tmp_path / "pair", tmp_path / "alone"
    command = ["cluster", str(tmp_path / "texts.csv"), *options, "--out"]
    said = together("-m", "coterie", *command, str(out), cwd=tmp_path)
    expected = CliRunner().invoke(app, [*command, str(alone)])
    assert expected.exit_code == 0
    assert said.replace(str(out), "OUT") == expected.stdout.replace(str(alone), "OUT")
    rows = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [6]
    assert json.loads((out / "manifest.json").read_text())["status"] == "done"
    tables = [csv.DictReader((f / "assignments.csv").open()) for f in (out, alone)]
    first, second = ([row["cluster"] for row in table] for table in tables)
    assert first == second and set(first) == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("variables", "number", "first"),
    [
        ({}, 1, True),
        ({"WORLD_SIZE": "4"}, 1, True),  # a job system's own
        ({"WORLD_SIZE": "4", "RANK": "3", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, 4, False),
        ({"WORLD_SIZE": "4", "RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, 4, True),
        ({"WORLD_SIZE": "1", "RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, 1, True),
    ],
)
def test_who_is_there(monkeypatch, variables: dict, number: int, first: bool) -> None:
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _ranks.started() == number and _ranks.is_first() == first


def test_one_process_alone_needs_no_others() -> None:
    device = torch.device("cpu")
    assert parallel.join(device) == device
    assert (parallel.size(), parallel.rank()) == (1, 0)
    assert parallel.same(3) == 3 and parallel.anyone(True) and not parallel.anyone(False)
