"""Which language each cluster of a mixed corpus speaks, and text from right to left."""

from pathlib import Path

import numpy as np

import coterie
from coterie.describe import Cluster, describe_clusters
from coterie.runs.exports import shown_languages

ENGLISH = ["Where is my parcel and why is it late?", "The parcel has not been sent to me"]
GERMAN = ["Wo ist mein Paket und warum kommt es nicht?", "Das Paket ist noch nicht da"]
ARABIC = ["أين طلبي ولماذا لم يصل إلى الآن", "متى يصل الطلب إلى المنزل من المتجر"]


def test_clusters_of_a_mixed_corpus_know_their_languages() -> None:
    first, second, both = describe_clusters(
        ENGLISH + GERMAN + [ENGLISH[0], GERMAN[0]], [0, 0, 1, 1, 2, 2]
    )
    assert first.languages == [("English", 1.0)] and shown_languages(first) == "English"
    assert second.languages == [("German", 1.0)]
    assert sorted(both.languages) == [("English", 0.5), ("German", 0.5)]
    assert shown_languages(both).count("50%") == 2
    again = Cluster.from_dict(both.to_dict())
    assert again.languages == both.languages


def test_one_language_needs_no_mention() -> None:
    (cluster,) = describe_clusters(ENGLISH, [0, 0])
    assert cluster.languages == [] and "languages" not in cluster.to_dict()


def test_the_page_isolates_names_from_right_to_left(tmp_path: Path) -> None:
    texts = [f"{text} {i}" for i in range(4) for text in ARABIC]
    run = coterie.cluster(texts, 2, method="kmeans", encoder="tfidf", folder=tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    for cluster in run.clusters:
        assert f"<bdi>{cluster.name}</bdi>" in page
        assert any("\u0600" <= sign <= "\u06ff" for sign in cluster.name)
    assert '<span dir="auto">' in page


def test_a_single_chinese_character_is_no_word() -> None:
    (cluster,) = describe_clusters(
        ["(图) 高考 成绩", "高考 (图)", "今年 高考 (图)"], np.zeros(3, dtype=int)
    )
    assert "图" not in dict(cluster.words)
