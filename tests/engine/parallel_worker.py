"""What test_parallel.py does alone, and once more in two processes."""

import json
import os
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import coterie
from coterie.base import fitting
from coterie.encoders import load_encoder
from coterie.encoders.base import TOKENS_PER_BATCH
from coterie.engine import Checkpoint, Run, parallel
from coterie.errors import DataError


def fit(told: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """One fit, with a row of the history for each step."""
    settings = dict(settings)
    name = settings.pop("method")
    model = coterie.make_method(name, 3, encoder=told["encoder"], device="cpu", **settings)
    run, fitting.Run = fitting.Run, partial(Run, log_every=1)
    try:
        model.fit(told["texts"])
    finally:
        fitting.Run = run
    return {
        "labels": model.labels_.tolist(),
        "losses": model.history_.losses(),
        "vectors": model.vectors_.tolist(),
        "seed": model.seed_,
    }


def encode(told: dict[str, Any]) -> dict[str, Any]:
    """Vectors by many small batches, and how many texts this process has encoded."""
    encoder = load_encoder(told["encoder"])
    items, _ = encoder.prepare(told["texts"])
    mine: list[int] = []
    encoder.register_forward_hook(lambda module, inputs, out: mine.append(len(out)))
    before = TOKENS_PER_BATCH["cpu"]
    TOKENS_PER_BATCH["cpu"] = 40
    try:
        vectors = parallel.encode_all(encoder, items, np.arange(len(items)))
    finally:
        TOKENS_PER_BATCH["cpu"] = before
    return {"vectors": vectors.tolist(), "share": sum(mine)}


def interrupted(told: dict[str, Any], settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A fit that ends with its second checkpoint, and is taken up again."""
    settings = {**settings, "checkpoint": folder / "checkpoint", "checkpoint_every": 0.0}
    original, count = Checkpoint.save, iter(range(1000))

    def save(self: Checkpoint, state: Any, device: torch.device) -> None:
        original(self, state, device)
        if next(count) == 1:
            raise KeyboardInterrupt

    Checkpoint.save = save
    try:
        fit(told, settings)
    except KeyboardInterrupt:
        pass
    Checkpoint.save = original
    left = (folder / "checkpoint" / "state.safetensors").exists()
    return {**fit(told, settings), "left": left}


def main(folder: Path) -> None:
    """In one of the processes: everything, then a fit on texts that differ."""
    told = json.loads((folder / "task.json").read_text())
    out: dict[str, Any] = {key: fit(told, value) for key, value in told["fits"].items()}
    out["seedless"] = fit(told, {**told["fits"]["sccl"], "steps": 2, "random_state": None})
    out["resumed"] = interrupted(told, told["fits"]["sccl"], folder)
    out["encoded"] = encode(told)
    told["texts"] = told["texts"][parallel.rank() :]
    try:
        fit(told, told["fits"]["sccl"])
    except DataError as error:
        out["error"] = str(error)
    (folder / f"out-{parallel.rank()}.json").write_text(json.dumps(out))


def start(folder: Path) -> None:
    """Become two processes, which find each other as those of torchrun do, and import once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    second = os.fork()
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = "0" if second else "1"
    main(folder)
    if second:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]))


if __name__ == "__main__":
    start(Path(sys.argv[1]))
