"""Whatever the texts are: readers, methods, scores and edits give a result or a clear error."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import coterie
from coterie import METHODS, read_corpus
from coterie.arrays import metrics
from coterie.errors import CoterieError
from coterie.texts.corpus import clean_text, has_words

EXAMPLES = 25
QUICK = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WORDS = st.lists(st.sampled_from("apple pear car road song drum tea rain".split()), min_size=1,
                 max_size=4).map(" ".join)  # fmt: skip
TEXTS = st.one_of(ANY, WORDS, st.sampled_from(["", " ", "?!", "\x00", "İ", "ß", "ﬁ", "a\u0301"]))
CORPORA = st.one_of(
    st.lists(TEXTS, min_size=1, max_size=30),
    st.integers(1, 30).map(lambda n: n * ["the same text"]),
    st.integers(1, 30).map(lambda n: n * [""]),
    st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=30),
    st.lists(WORDS, min_size=1, max_size=12).map(lambda texts: texts + [t.upper() for t in texts]),
)
CHEAP = ["kmeans", "spherical-kmeans", "average", "ward", "gmm", "consensus"]
TRAINED = ["sccl", "deccrl", "rstc", "dec", "idec", "autoencoder", "aecl",
           "cluster-bert", "adsl", "auto"]  # fmt: skip
SHORT = {"steps": 2, "epochs": 2, "ae_steps": 2, "adapt_epochs": 1, "rounds": 1, "harden_epochs": 1,
         "contrast_epochs": 1, "label_epochs": 1, "n_init": 1, "batch_size": 3, "n_members": 3,
         "ae_layers": (8, 4), "word_dim": 4, "word_vectors": "ppmi"}  # fmt: skip


def make(name: str, k: int):
    recipe = METHODS[name]
    fields = {key: value for key, value in SHORT.items() if hasattr(recipe.cls, key)}
    own = {} if "encoder" in recipe.parameters else {"encoder": "bow"}
    return recipe.make(k, random_state=0, **own, **fields)


def result_or_error(name: str, texts: list[str], k: int) -> bool:
    """Whether there is a result; if so, it keeps all promises."""
    model = make(name, k)
    try:
        model.fit(texts)
    except CoterieError as error:
        assert len(str(error)) > 20
        return False
    filled = np.array([has_words(clean_text(text)) for text in texts])
    assert ((model.labels_ >= 0) == filled).all()
    assert model.labels_.max(initial=-1) < k
    p = model.predict_proba(texts)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), filled, atol=1e-4)
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    assert np.isfinite(model.vectors_).all()
    return True


def asked(texts: list[str], k: int, possible: bool) -> int:
    """A number of clusters up to that of texts or, if it is to be possible, of different ones."""
    cleaned = (clean_text(text) for text in texts)
    different = {text.lower() for text in cleaned if has_words(text)}
    return min(k, max(1, len(different)) if possible else len(texts))


@pytest.mark.parametrize("name", [*CHEAP, *TRAINED])
def test_methods_on_any_small_corpus(name: str, request, tried) -> None:
    many = request.config.getoption("--slow")
    if not many and name in TRAINED and name not in ("sccl", "dec", "aecl", "adsl"):
        pytest.skip("takes minutes: run with --slow")
    examples = (400 if many else 8) if name in CHEAP else (60 if many else 3)

    @settings(QUICK, max_examples=examples)
    @given(CORPORA, st.integers(1, 30), st.booleans())
    def check(texts: list[str], k: int, possible: bool) -> None:
        fitted = result_or_error(name, texts, asked(texts, k, possible))
        tried["small corpora clustered" if fitted else "small corpora refused in words"] += 1

    check()


FIVE = ["red apple", "Red Apple", "fast car", "loud song", "cold water"]


@pytest.mark.parametrize("name", [*CHEAP, *TRAINED])
@pytest.mark.parametrize(("k", "batch"), [(1, 1), (4, 2), (2, 1), (4, 100)])
def test_degenerate_training(name: str, k: int, batch: int, request, tried) -> None:
    """One cluster, as many as texts, batches of one and smaller than the clusters, five texts."""
    if not request.config.getoption("--slow") and name not in ("sccl", "aecl", "rstc", "kmeans"):
        pytest.skip("takes minutes: run with --slow")
    model = make(name, k)
    if hasattr(model, "batch_size"):
        model.set_params(batch_size=batch)
    try:
        tried["degenerate trainings"] += 1
        model.fit(FIVE)
    except CoterieError as error:
        assert len(str(error)) > 20
        return
    assert model.labels_[0] == model.labels_[1]  # the same text in another case
    assert np.isfinite(model.probabilities_).all()
    np.testing.assert_array_equal(model.predict(FIVE), model.labels_)


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)


@settings(QUICK, max_examples=4 * EXAMPLES)
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12))
def test_a_table_that_python_writes_is_read_to_the_letter(rows, tmp_path: Path, tried) -> None:
    tried["tables read"] += 1
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("id", "text"), *rows])
    (tmp_path / "a.csv").write_text(text.getvalue(), "utf-8", newline="")
    lines = "".join(json.dumps({"id": a, "text": b}) + "\n" for a, b in rows)
    (tmp_path / "a.jsonl").write_text(lines, "utf-8")
    for name in ("a.csv", "a.jsonl"):
        try:
            corpus = read_corpus(tmp_path / name, text_column="text")
        except CoterieError:
            assert not any(has_words(clean_text(b)) for _, b in rows)
            continue
        read = corpus.table.column("text").to_pylist()
        assert read == [b for _, b in rows]


@settings(QUICK, max_examples=4 * EXAMPLES)
@given(data=st.binary(max_size=300), suffix=st.sampled_from(["csv", "tsv", "jsonl", "txt"]))
def test_any_bytes_are_read_or_refused_in_words(
    data: bytes, suffix: str, tmp_path: Path, tried
) -> None:
    tried["tables read"] += 1
    (tmp_path / f"a.{suffix}").write_bytes(data)
    try:
        corpus = read_corpus(tmp_path / f"a.{suffix}")
    except CoterieError as error:
        assert str(error)
    else:
        assert len(corpus) == len(corpus.texts) > 0


LABELS = st.lists(st.integers(0, 5), min_size=1, max_size=30)


@settings(QUICK, max_examples=EXAMPLES)
@given(labels=LABELS, seed=st.integers(0, 99))
def test_scores_are_bounded_and_blind_to_names(labels: list[int], seed: int, tried) -> None:
    tried["clusterings scored"] += 1
    other = list(np.random.default_rng(seed).permutation(labels))
    scores = metrics.external_scores(labels, other)
    renamed = metrics.external_scores(labels, [f"n{9 - int(x)}" for x in other])
    assert scores == pytest.approx(renamed)
    assert all(np.isfinite(v) and -1 <= v <= 1 + 1e-9 for v in scores.values()), scores
    perfect = metrics.external_scores(labels, labels)
    assert perfect["acc"] == perfect["purity"] == pytest.approx(1)


EDITS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"merge": st.lists(st.integers(-1, 5), max_size=3)}),
        st.fixed_dictionaries({"split": st.integers(-1, 5)}),
        st.fixed_dictionaries({"rename": st.dictionaries(st.integers(0, 4), ANY, max_size=2)}),
        st.fixed_dictionaries({"delete": st.lists(st.integers(0, 4), max_size=2)}),
        st.fixed_dictionaries({"move": st.fixed_dictionaries(
            {"rows": st.lists(st.integers(0, 95), max_size=3), "to": st.integers(-1, 4)})}),
        st.dictionaries(ANY, ANY, max_size=2),
    ),
    max_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def done(topics, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edited") / "run"
    coterie.cluster(topics[0], 3, method="kmeans", encoder="tfidf", folder=folder, verbose=0)
    return folder


@settings(QUICK, max_examples=2 * EXAMPLES)
@given(edits=EDITS)
def test_edits_are_checked_or_refused(done: Path, edits: list, tried) -> None:
    tried["lists of edits"] += 1
    try:
        found = coterie.edit(done, edits, dry_run=True)
    except CoterieError as error:
        assert str(error)
    else:
        assert len(found.done) >= 1 and found.clusters
