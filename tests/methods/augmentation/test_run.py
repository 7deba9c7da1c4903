"""Augmentations by name, and the views that methods read."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

import coterie
from coterie import SCCL
from coterie.errors import DataError, UsageError
from coterie.methods.augmentation import make_augmenter, read_views
from coterie.methods.augmentation.base import Augmenter
from coterie.methods.augmentation.letters import Deletion
from coterie.methods.augmentation.run import is_kind
from said import raises

TEXTS = [
    "the big parcel is late",
    "please stop it quickly",
    "my box",
    "error",
    "a baby and a mouse, ?",
    "",
    "the big parcel is late",
    "  ?? ",
    "zzz yyy xxx www",
    "return the error box to me now",
]


@pytest.fixture(params=["eda", "wordnet", "charswap", "deletion", "contextual"])
def kind(request, small_wordnet: Path, tiny_masked: Path) -> str:
    return f"contextual:{tiny_masked}" if request.param == "contextual" else request.param


def test_no_text_is_lost_and_order_and_company_do_not_matter(kind: str) -> None:
    made = coterie.augment(TEXTS, kind, random_state=3)
    assert len(made) == len(TEXTS)
    assert [bool(text) for text in made] == [True] * 5 + [False, True, False, True, True]
    assert made[0] == made[6]  # the same text, the same wording
    assert coterie.augment(TEXTS[::-1], kind, random_state=3)[::-1] == made
    assert [coterie.augment([text], kind, random_state=3)[0] for text in TEXTS] == made


def test_another_seed_or_view_gives_other_augmentations(kind: str) -> None:
    one, same, other, second = (
        coterie.augment(TEXTS, kind, **more) for more in ({}, {}, {"random_state": 1}, {"view": 2})
    )
    assert one == same and len({tuple(one), tuple(other), tuple(second)}) == 3


@pytest.mark.full
def test_another_process_gives_the_same(warm_python: list[str]) -> None:
    texts = ["where is my parcel", "I want my money back"]
    code = f"import coterie; print(list(coterie.augment({texts!r}, 'charswap', random_state=5)))"
    done = subprocess.run([*warm_python, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(list(coterie.augment(texts, "charswap", random_state=5)))


def test_an_augmenter_that_empties_texts_gives_them_back() -> None:
    class Eraser(Augmenter):
        kind = "eraser"

        def apply(self, texts, keys):
            return ["?!" if i % 2 else "" for i, _ in enumerate(texts)]

        def settings(self):
            return {}

    assert coterie.augment(["one", "two"], Eraser()) == ["one", "two"]


def test_kinds_are_read_from_a_line(tiny_masked: Path) -> None:
    made = make_augmenter(f"contextual@0.2:{tiny_masked}")
    assert (made.rate, made.folder) == (0.2, tiny_masked)
    assert make_augmenter("charswap@.1").rate == 0.1 and make_augmenter("charswap").rate == 0.2
    assert is_kind("eda") and is_kind("eda@0.3")
    assert not is_kind("eda.csv") and not is_kind("my/eda") and not is_kind("virtual")


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("edda", ("should be one of", " Did you mean 'eda'?")),
        ("virtual", "writes no texts"),
        ("charswap@0", "should be above 0"),
        ("charswap@1.5", "should be above 0"),
        ("charswap@1.2.3", "KIND@RATE"),
    ],
)
def test_what_cannot_be_made_is_refused(kind: str, key: Any) -> None:
    with raises(UsageError, key):
        coterie.augment(["a text"], kind)


def test_methods_take_a_kind_as_views(topics) -> None:
    texts = topics[0][:30]
    views = read_views("charswap", texts, seed=7)
    assert views == [coterie.augment(texts, "charswap", random_state=7, view=v) for v in (1, 2)]
    assert views[0] != views[1]
    mixed = read_views(["charswap", "deletion@0.5"], texts, seed=7)
    assert mixed[1] == coterie.augment(texts, "deletion@0.5", random_state=7, view=2)

    class Still(Deletion):
        seeded = False

    assert len(read_views(Still(), texts)) == 1  # a second one would be the first
    fits = [
        SCCL(3, encoder="tfidf-svd", steps=4, random_state=0, views=v).fit(texts).history_.rows[-1]
        for v in ("charswap", "charswap", "virtual")
    ]
    assert fits[0]["terms"] == fits[1]["terms"] != fits[2]["terms"]


def test_aecl_makes_one_wording(topics) -> None:
    from coterie import AECL

    model = AECL(3, encoder="tfidf", random_state=0, views="charswap")
    assert model._fitting(model, topics[0][:20]).inputs.views.shape[0] == 2
    model = SCCL(3, encoder="tfidf", random_state=0, views="charswap")
    assert model._fitting(model, topics[0][:20]).inputs.views.shape[0] == 3


PLAIN = ["one fish", "two fish", ""]


FILES = {
    "the same order": (
        "text,text1,text2,label\none fish,a,b,0\ntwo fish,c,d,0\n,e,f,1\n",
        "ace bdf",
    ),
    "another order": ("text1,text\nc,two fish\nx,unused\na,one fish\n,\n", "ac"),
    "duplicates": ("text,text1\none fish,a\none fish,b\n,c\n", "abc"),
}


@pytest.mark.parametrize("case", FILES)
def test_views_are_read_from_a_file(case: str, tmp_path: Path) -> None:
    content, wanted = FILES[case]
    (tmp_path / "pairs.csv").write_text(content)
    texts = ["one fish", "one fish", ""] if case == "duplicates" else PLAIN
    found = read_views(tmp_path / "pairs.csv", texts)
    assert ["".join(view) for view in found] == wanted.split()
    assert read_views(found, texts) == found  # lists of texts are views, too
    assert read_views("virtual", texts) == read_views(None, texts) == []


@pytest.mark.parametrize(
    ("views", "error", "key"),
    [
        ("text,text1\none fish,a\n", DataError, "texts; the first"),
        ("body,label\na,0\n", DataError, "expected the columns"),
        (None, UsageError, "nor a file; a file"),
        ([["a", "b", "c"], ["a"]], UsageError, "texts, X has"),
    ],
)
def test_views_that_do_not_fit_are_refused(views: Any, error: type, key: str, tmp_path) -> None:
    if isinstance(views, str):
        (tmp_path / "pairs.csv").write_text(views)
    with raises(error, key):
        read_views(views if isinstance(views, list) else tmp_path / "pairs.csv", PLAIN)
