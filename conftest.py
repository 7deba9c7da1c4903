"""Shared material: a small corpus, a tiny random encoder, and the benchmarks where they are."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from subprocess import PIPE

if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a core; more threads would only spin
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

os.environ["COTERIE_CACHE"] = "off"  # no test reads what another run left; those of the cache ask

import numpy as np
import pytest
import torch
import typer.testing

typer.testing._get_command = cache(typer.main.get_command)  # not made anew for each call

if not torch.cuda.is_available():  # kernels run on the CPU, slowly; read when they are imported
    os.environ["TRITON_INTERPRET"] = "1"

HOME = Path(__file__).parent
WARM = HOME / "tests" / "warm.py"
TOPICS = {
    "fruit": "apple pear plum cherry grape melon orchard juice ripe sweet".split(),
    "traffic": "car truck engine road wheel brake driver bus motor fuel".split(),
    "music": "song guitar drum chorus singer violin concert melody band tune".split(),
}


# Of "make test-all", beside what is marked "full" or looks at a page in a browser.
FULL = (
    "benchmarks/", "tests/docs/", "tests/torture/", "tests/encoders/test_fused.py",
    "tests/encoders/test_universal.py", "tests/methods/test_tune.py", "tests/serve/",
    "tests/test_docs.py", "tests/test_examples_folder.py", "tests/test_wrong_kinds.py",
)  # fmt: skip

# Reasons that name a part which may be missing on a user's machine, but not with CI=true.
PARTS_OF_CI = ("Chromium", "WordNet", "benchmark files")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests that take minutes, too")


def is_full(path: Path) -> bool:
    return f"{path.relative_to(HOME).as_posix()}/".startswith(FULL)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import nothing that is left out as a whole."""
    return True if config.option.markexpr == "not full" and is_full(collection_path) else None


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marker
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if is_full(item.path) or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("full")
        if item.get_closest_marker("slow") and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="takes minutes: run with --slow"))
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    """Let a test fail that is left out for want of a part that continuous integration has."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        reason = why_skipped(report)
        if any(part in reason for part in PARTS_OF_CI):
            report.outcome = "failed"
            report.longrepr = f"{reason}. With CI=true this may not be left out."
    return report


def why_skipped(report: pytest.TestReport) -> str:
    """The reason that a test gave."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


@pytest.hookimpl(wrapper=True, tryfirst=True)  # behind all other summaries
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Say in one line at the end what was left out and why."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    if counts := Counter(map(why_skipped, skipped)):
        parts = [f"{count} ({reason})" for reason, count in counts.most_common()]
        terminalreporter.write_line(f"Left out: {'; '.join(parts)}.")


def make_topics(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """``n`` texts of six words, four of them of one topic and two of any."""
    rng = np.random.default_rng(seed)
    everything = [word for words in TOPICS.values() for word in words]
    texts, truth = [], []
    for i in range(n):
        topic = list(TOPICS)[i % 3]
        own = rng.choice(TOPICS[topic], 4, replace=False)
        words = [*own, *rng.choice(everything, 2)]
        rng.shuffle(words)
        texts.append(" ".join(map(str, words)))
        truth.append(topic)
    return texts, truth


@pytest.fixture(scope="session")
def topics() -> tuple[list[str], list[str]]:
    """90 texts of three topics, and the topics."""
    return make_topics(90)


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_encoder(tmp_path_factory.mktemp("tiny"))


def make_tiny_encoder(folder: Path) -> Path:
    """A sentence-transformers folder with a random two-layer BERT over the words of the topics."""
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [word for topic in TOPICS.values() for word in topic]
    (folder / "vocab.txt").write_text("\n".join(words))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    plain = folder / "plain"
    BertModel(config).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    model = SentenceTransformer(str(plain), device="cpu")
    model.save(str(folder / "sentence"), create_model_card=False)
    return folder / "sentence"


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run of the tests that all its processes share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def kept_vectors(shared: Path) -> Path:
    """A cache for this run of the tests alone: many encode the bundled messages, one has to."""
    return shared / "kept-vectors"


@pytest.fixture(scope="session")
def warm_python() -> Iterator[list[str]]:
    """In place of ``sys.executable`` before a command: forks of one process that has imported."""
    if sys.platform != "linux":  # its sockets keep messages apart
        yield [sys.executable]
        return
    with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
        command = [sys.executable, str(WARM), "--serve", f"{folder}/socket"]
        alone = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # More threads would not live on in a fork, which would wait for them for ever.
        with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True, env=alone) as process:
            assert process.stdout.readline() == "ready\n"
            yield [sys.executable, "-IS", str(WARM), f"{folder}/socket"]
            process.stdin.close()


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """Folder with the public benchmark files; tests that need them skip where they are not."""
    folder = os.environ.get("COTERIE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("the benchmark files are not here: set COTERIE_DATA to their folder")
    return Path(folder)
