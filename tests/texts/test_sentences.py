"""Rows cut into sentences, and back."""

import pandas as pd
import pytest

import coterie
from coterie.texts.sentences import sentences_of

# Where a text is cut is marked by a bar.
CUT = [
    "no mark at all here",
    "The parcel is late. |Where is my refund now?",
    "The parcel is late.\n|Where is my refund now?",
    "It came, e.g. by Dr. Smith of A. Co. yesterday.",
    "Version 2.5 costs 3.99 dollars. |I want it now.",
    "Hi! The vase is broken.",
    "The vase is broken. Thanks!",
    "“It is all broken!” |Then it rang again.",
    "我的包裹还没有到，请帮我查一下。|我想要退款，谢谢你们的帮助！",
]


@pytest.mark.parametrize("text", CUT)
def test_sentences(text: str) -> None:
    wanted = [" ".join(part.split()) for part in text.split("|")]
    assert sentences_of(text.replace("|", "")) == wanted


def test_sentences_of_a_frame_are_clustered_and_brought_back() -> None:
    texts = ["The parcel is late. The refund is wrong.", None, "Late parcel again, late parcel.",
             "A wrong refund again. My parcel is so late."]  # fmt: skip
    frame = pd.DataFrame({"text": texts, "n": range(4)}, index=list("abcd"))
    sentences = coterie.split_sentences(frame)
    assert sentences["row"].tolist() == [0, 0, 1, 2, 3, 3]
    assert sentences["n"].tolist() == [0, 0, 1, 2, 3, 3]
    assert sentences["text"].tolist()[:3] == ["The parcel is late.", "The refund is wrong.", ""]
    run = coterie.cluster(sentences, 2, method="kmeans", encoder="tfidf")
    back = run.to_pandas().groupby("row")["name"]
    themes = back.agg(lambda names: sorted(names.unique())).tolist()
    assert [len(names) for names in themes] == [2, 1, 1, 2] and themes[0] == themes[3]
