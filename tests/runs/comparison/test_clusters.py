"""Two clusters of a run side by side: the statistics by hand and by loops, and a real run."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from commands import rows, write_csv
from commands import run as call
from coterie import compare_clusters, cut
from coterie.errors import UsageError
from coterie.runs.comparison.clusters import PRIOR, Z, contrast, weigh_words
from coterie.runs.store import read
from said import raises, says
from trees import nested_texts

TEXTS = nested_texts()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three kinds of texts; most of those about money came by web."""
    folder = tmp_path_factory.mktemp("clusters")
    lines = [
        (text, "web" if "money" in text and i % 8 else "mail", f"2026-0{1 + i % 3}-11")
        for i, text in enumerate(TEXTS)
    ]
    file = write_csv(folder / "in.csv", ("text", "channel", "day"), *lines)
    call("cluster", file, "--encoder", "tfidf-svd", "-q", "--out", folder / "run")
    cut(folder / "run", "broad")
    return folder / "run"


def slow_gap(a: int, b: int, n_a: int, n_b: int) -> float:
    """Difference of log odds over its standard deviation, for one word."""
    share = (a + b) / (n_a + n_b)
    yes_a, no_a = a + PRIOR * share, n_a - a + PRIOR * (1 - share)
    yes_b, no_b = b + PRIOR * share, n_b - b + PRIOR * (1 - share)
    gap = math.log(yes_a / no_a) - math.log(yes_b / no_b)
    return gap / math.sqrt(1 / yes_a + 1 / no_a + 1 / yes_b + 1 / no_b)


def slow_wilson(k: int, n: int) -> tuple[float, float]:
    """The shares p for which k lies Z standard deviations from n * p: roots of a quadratic."""
    a, b, c = n + Z**2, -(2 * k + Z**2), k**2 / n
    root = math.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def test_log_odds_and_intervals_are_their_definitions() -> None:
    rng = np.random.default_rng(0)
    n_a, n_b = 40, 25
    a, b = rng.integers(0, n_a + 1, 50), rng.integers(0, n_b + 1, 50)
    a[0], b[0] = n_a, n_b  # a word of all texts has no odds
    gaps = weigh_words(a, b, n_a, n_b)
    assert gaps[0] == 0
    for i in range(1, 50):
        assert gaps[i] == pytest.approx(slow_gap(a[i], b[i], n_a, n_b))
    for i, found in enumerate(contrast([*map(str, range(50))], a, b, n_a, n_b)):
        (low_a, high_a), (low_b, high_b) = slow_wilson(a[i], n_a), slow_wilson(b[i], n_b)
        p, q = a[i] / n_a, b[i] / n_b
        low = p - q - math.hypot(p - low_a, high_b - q)
        high = p - q + math.hypot(high_a - p, q - low_b)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)
        assert found.chance == (low <= 0 <= high)


def test_values_by_hand() -> None:
    # 6 of 10 against 2 of 10: the prior is 10 texts of which 4 hold the word. The odds are 10 to 10
    # and 6 to 14, so the gap is log(1) - log(3 / 7).
    (gap,) = weigh_words(np.array([6]), np.array([2]), 10, 10)
    assert gap == pytest.approx(math.log(7 / 3) / math.sqrt(0.1 + 0.1 + 1 / 6 + 1 / 14))
    # Nobody of 0 against all of 100: Wilson's intervals are [0, z² / (100 + z²)] and its mirror.
    (found,) = contrast(["x"], np.array([0]), np.array([100]), 100, 100)
    far = Z**2 / (100 + Z**2)
    assert found.high == pytest.approx(-1 + math.sqrt(2) * far, abs=1e-4)
    assert not found.chance and (found.share_a, found.share_b) == (0, 1)


def test_two_clusters_of_a_run(run: Path) -> None:
    table, known = rows(run), {c.name: c.id for c in read(run).clusters}
    of = {kind: Counter(r["cluster"] for r in table if kind in r["text"]).most_common(1)[0][0]
          for kind in ("money", "post")}  # fmt: skip
    found = compare_clusters(run, int(of["money"]), of["post"])
    names = {i: name for name, i in known.items()}
    again = compare_clusters(run, names[int(of["money"])].upper(), names[int(of["post"])])
    assert found == again
    here = {side: [r for r in table if r["cluster"] == of[side]] for side in of}
    for side, kind in ((found.a, "money"), (found.b, "post")):
        assert side.size == len(here[kind]) and side.words[0].value == kind
        for word in side.words:
            for n, cluster in ((word.a, "money"), (word.b, "post")):
                assert n == sum(word.value in r["text"].split() for r in here[cluster])
        assert all(kind in text for text in side.typical) and side.typical
        other = of["post" if kind == "money" else "money"]
        assert side.near == sum(r["runner_up"] == other for r in here[kind])
    web = next(v for v in found.columns["channel"] if v.value == "web")
    assert (web.a, web.b) == (sum(r["channel"] == "web" for r in here["money"]), 0)
    assert not web.chance and found.date_column == "day"
    assert [sum(side) for side in zip(*((v.a, v.b) for v in found.over_time), strict=True)] == [
        found.a.size, found.b.size]  # fmt: skip
    margins = [text.margin for text in found.between]
    assert margins == sorted(margins)
    assert any("web (" in sentence for sentence in found.sentences())
    bare = json.dumps(found.without_texts().to_dict())
    assert not any(text in bare for text in TEXTS)


def test_clusters_of_other_cuts_and_what_is_refused(run: Path) -> None:
    whole = read(run)
    union, inside = next(pair for pair in whole.tree.inside().items() if pair[0] in whole.names)
    found = compare_clusters(run, *inside)
    assert found.a.size + found.b.size == whole.nodes[union].size
    assert found.between == ()  # only clusters that are shown are second choices
    with raises(UsageError, "`b=", "share texts"):
        compare_clusters(run, union, inside[1])
    with raises(UsageError, "`a='Moneyy'`", "no such cluster"):
        compare_clusters(run, "Moneyy", 0)


def test_the_command_prints_what_python_finds(run: Path) -> None:
    one, two, *_ = [c.id for c in read(run).clusters]
    found = compare_clusters(run, one, two)
    shown = call("compare", run, "--clusters", one, two).stdout
    assert all(sentence in shown for sentence in found.sentences())
    assert found.a.typical[0] in shown and "could be chance" in shown
    told = json.loads(call("compare", run, "--clusters", one, two, "--no-texts", "--json").stdout)
    assert told == json.loads(json.dumps(found.without_texts().to_dict()))
    for wrong in ([], [run, "--clusters", one, two], ["--clusters", one, two, "--by", "rows"]):
        assert says(call("compare", run, *wrong, code=2).output, "`clusters`")
