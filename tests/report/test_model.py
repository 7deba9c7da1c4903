"""The page of a fitted model, its tree and outliers in a browser, and what a notebook shows."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from coterie import describe, make_method
from coterie.base import TextClusterer
from coterie.description import Cluster
from coterie.errors import UsageError
from coterie.report import Outlier, Outliers, Points, ReportData, cluster_tree, write_report
from said import raises

NASTY = "</summary><img src=x onerror=window.hacked=1>\x1b[31m"


@pytest.fixture(scope="module")
def model(topics) -> TextClusterer:
    fitted = make_method("kmeans", 6, encoder="tfidf", random_state=0).fit([*topics[0], ""])
    fitted.mark_outliers(3)
    return fitted


def test_a_model_writes_its_page(model: TextClusterer, topics, tmp_path: Path) -> None:
    texts = [*topics[0], ""]
    assert model.report(tmp_path / "x.html", texts, levels=[2, 4]) == tmp_path / "x.html"
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    marked = model.mark_outliers(3)
    count = int(marked.sum())
    assert count > 0 and f"{count} texts ({100 * count / 90:.1f}%)" in page
    assert "91 texts in 6 clusters" in page
    assert 'id="hierarchy"' in page and "2, 4, 6 clusters" in page
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found[1])
    places = np.frombuffer(base64.b64decode(data["cluster"]), "<u2")
    shown = np.array([data["ids"][place] for place in places])
    np.testing.assert_array_equal(shown, np.where(marked, -1, model.labels_)[:90])
    assert data["text"][7] == texts[7]
    model.report(str(tmp_path / "bare.html"), texts, show_texts=False)
    bare = (tmp_path / "bare.html").read_text(encoding="utf-8")
    assert not any(text in bare for text in topics[0])


def test_an_outlier_may_be_nearest_to_a_cluster_without_texts(
    model: TextClusterer, topics, tmp_path: Path
) -> None:
    marked = model.mark_outliers(3)[:90]
    odd = next(i for i in np.flatnonzero(marked) if model.labels_[i] > 0)
    usual = np.flatnonzero(~marked & (model.labels_[:90] == 0))[:3]
    model.report(tmp_path / "x.html", [topics[0][i] for i in (*usual, odd)])
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert f"Cluster {model.labels_[odd]}" in page


def test_describing_by_the_model_is_describing_its_labels(model: TextClusterer, topics) -> None:
    texts = [*topics[0], ""]
    labels = model.predict(texts, outliers=True)
    expected = describe(texts, labels, model.vectors_, probabilities=model.probabilities_)
    assert [c.name for c in model.describe(texts)] == [c.name for c in expected]
    assert [c.size for c in model.describe(texts)] == [c.size for c in expected]
    assert len(model.describe(texts, n_words=2)[0].words) <= 2


def test_models_of_vectors_need_them(topics, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
    model = make_method("kmeans", 3, encoder="precomputed", random_state=0).fit(x)
    with raises(UsageError, "X: this model takes"):
        model.describe(topics[0])
    with raises(UsageError, "texts; give one for each text", "90", "5"):
        model.describe(topics[0][:5], x)
    assert sum(c.size for c in model.describe(topics[0], x)) == 90
    with raises(UsageError, "asked for, but there are only", "3"):
        model.report(tmp_path / "x.html", topics[0], x, levels=[2, 4])
    for levels in (3, ["2"], {2: 3}):
        with raises(UsageError, "levels` should be"):
            model.report(tmp_path / "x.html", topics[0], x, levels=levels)


def test_a_notebook_shows_a_small_table_once_fitted(model: TextClusterer) -> None:
    html = model._repr_html_()
    assert html == model._repr_mimebundle_()["text/html"]
    assert "TwoStep: 6 clusters of 90 texts" in html and html.count("<tr>") == 7
    sizes = [int(size) for size in re.findall(r"<tr><td>\d+</td><td>(\d+)</td>", html)]
    assert sizes == np.bincount(model.labels_[:-1]).tolist()
    assert "<script" not in html and len(html) < 5_000


def cluster(number: int, size: int, parent: int | None = None, name: str = "") -> Cluster:
    return Cluster(number, name or f"c{number}", size, size / 10, [("w", 1.0)], ["x"],
                   parent=parent)  # fmt: skip


LEVELS = [
    [cluster(0, 7, name="Large"), cluster(1, 3, name=NASTY)],
    [cluster(0, 4, 0, "Half"), cluster(1, 3, 0, "Alone"), cluster(2, 3, 1, "Rest")],
]
LEAVES = [cluster(0, 3, 0), cluster(1, 1, 0), cluster(2, 3, 1), cluster(3, 1, 2), cluster(4, 2, 2)]


def test_the_tree_is_sorted_and_holds_each_cluster_once() -> None:
    large, other = cluster_tree(LEVELS, LEAVES)
    assert (large.cluster.name, other.cluster.name) == ("Large", "Rest")
    assert [(b.cluster.name, b.leaf) for b in large.children] == [("Half", False), ("c2", True)]
    assert [b.cluster.id for b in large.children[0].children] == [0, 1]
    assert [b.cluster.id for b in other.children] == [4, 3]
    empty = [*LEAVES, cluster(5, 0)]
    assert cluster_tree(LEVELS, empty) == [large, other]


def test_tree_and_outliers_in_a_browser(visit: Callable[..., Any], tmp_path: Path) -> None:
    hostile = Outlier(NASTY, 0.91, 1, NASTY)
    points = Points([0, 5_000, 10_000], [0, 5_000, 10_000], [1, 2, 3], [0, 1, -1],
                    [0.5, 0.5, 0.4], ["a", "b", NASTY], total=3)  # fmt: skip
    levels = [LEVELS[0], [*LEVELS[1][:2], cluster(2, 1, 1), cluster(3, 2, 1)]]
    leaves = [*LEAVES[:3], cluster(3, 1, 2), cluster(4, 2, 3)]
    data = ReportData("t", [], leaves, points=points, levels=levels,
                      outliers=Outliers(1, 0.1, [hostile]))  # fmt: skip
    write_report(tmp_path / "p.html", data)
    for more in ({}, {"width": 400, "height": 850, "is_mobile": True}):
        page = visit(tmp_path / "p.html", **more)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("typeof window.hacked") == "undefined"
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        parts = "[...document.querySelectorAll('.tree details')]"
        assert page.evaluate(f"{parts}.map(d => d.open)") == [True, False, True]
        page.evaluate(f"{parts}[1].querySelector('summary').focus()")
        page.keyboard.press("Enter")
        assert page.evaluate(f"{parts}[1].open")
        assert page.evaluate("[...document.querySelectorAll('.tree a')].map(a => a.hash)") == [
            "#cluster-0", "#cluster-1", "#cluster-2", "#cluster-4", "#cluster-3",
        ]  # fmt: skip
        assert "nearest to" in page.text(".outliers")
        assert page.locator("#legend span").all_text_contents()[-1] == "(none of these)"
        page.evaluate("[...document.querySelectorAll('#legend button')].pop().click()")
        assert "1 text in “(none of these)”" in page.text("#focus-title")
        assert page.troubles == []


def test_a_model_that_is_not_fitted_has_nothing_to_describe(tmp_path: Path) -> None:
    model = make_method("kmeans", 3, encoder="tfidf")
    with pytest.raises(NotFittedError):
        model.describe(["a text"])
    with pytest.raises(NotFittedError):
        model.report(tmp_path / "x.html", ["a text"])
