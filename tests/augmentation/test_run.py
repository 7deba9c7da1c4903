"""Augmentations by name, those kept on disk, and the views that methods read."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

import coterie
from coterie import SCCL
from coterie.augmentation import make_augmenter, read_views, reword
from coterie.augmentation.base import CHAIN, Augmenter, bits, text_keys
from coterie.augmentation.letters import Deletion
from coterie.augmentation.run import Step, is_kind, read_steps
from coterie.errors import DataError, UsageError
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


@pytest.fixture(
    params=["eda", "wordnet", "charswap", "deletion", "contextual", "deletion+charswap"]
)
def kind(request, small_wordnet: Path, tiny_masked: Path) -> str:
    return f"contextual:{tiny_masked}" if request.param == "contextual" else request.param


def test_no_text_is_lost_and_order_and_company_do_not_matter(kind: str) -> None:
    made = coterie.augment(TEXTS, kind, seed=3)
    assert isinstance(made, list) and len(made) == len(TEXTS)
    assert [bool(text) for text in made] == [True] * 5 + [False, True, False, True, True]
    assert made[0] == made[6]  # the same text, the same wording
    assert coterie.augment(TEXTS[::-1], kind, seed=3)[::-1] == made
    assert [coterie.augment([text], kind, seed=3)[0] for text in TEXTS] == made
    pairs = [(new, old) for new, old in zip(made, TEXTS, strict=True) if new]
    assert made.unchanged == sum(new == old for new, old in pairs) / len(pairs)
    augmenter = make_augmenter(kind)
    augmenter.batch = 2
    assert reword(augmenter, [old for _, old in pairs], seed=3) == [new for new, _ in pairs]


def test_another_seed_or_view_gives_other_augmentations(kind: str) -> None:
    one, same, other, second = (
        coterie.augment(TEXTS, kind, **more) for more in ({}, {}, {"seed": 1}, {"view": 2})
    )
    assert one == same and len({tuple(one), tuple(other), tuple(second)}) == 3


@pytest.mark.full
def test_another_process_gives_the_same(warm_python: list[str]) -> None:
    texts = ["where is my parcel", "I want my money back"]
    code = f"import coterie; print(list(coterie.augment({texts!r}, 'deletion+charswap', seed=5)))"
    done = subprocess.run([*warm_python, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(list(coterie.augment(texts, "deletion+charswap", seed=5)))


class Slow(Deletion):
    """Deletion that counts its texts, fails when told to, and asks for a place on disk."""

    slow = True
    batch = 3

    def __init__(self, last: int = 10**9) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.last = last

    def apply(self, texts, keys):
        if len(self.seen) >= self.last:
            raise KeyboardInterrupt
        self.seen += texts
        return super().apply(texts, keys)


def test_slow_augmentations_are_kept_and_a_stopped_run_goes_on(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    texts = [f"text number {i} is here" for i in range(10)]
    plain = reword(Deletion(), texts)
    broken = Slow(last=6)
    with pytest.raises(KeyboardInterrupt):
        reword(broken, texts)
    assert len(broken.seen) == 6
    rest = Slow()
    assert reword(rest, texts) == plain and rest.seen == texts[6:]
    again = Slow()
    assert reword(again, texts) == plain and again.seen == []
    assert reword(again, texts, seed=1) != plain and len(again.seen) == 10  # another seed
    shards = list((tmp_path / "augmentations").rglob("*.safetensors"))
    for number, shard in enumerate(shards):  # broken files are made anew
        whole = shard.read_bytes()
        shard.write_bytes(whole[:-3] if number % 2 else whole.replace(b"number", b"numxer"))
    assert reword(Slow(), texts) == plain
    coterie.augment(texts, "charswap")  # quick kinds leave nothing on disk
    assert len(list((tmp_path / "augmentations").iterdir())) == 2
    with coterie.encoders.no_cache():
        alone = Slow()
        assert reword(alone, texts) == plain and len(alone.seen) == 10


def test_an_augmenter_that_empties_texts_gives_them_back() -> None:
    class Eraser(Augmenter):
        kind = "eraser"

        def apply(self, texts, keys):
            return ["?!" if i % 2 else "" for i, _ in enumerate(texts)]

        def settings(self):
            return {}

    made = coterie.augment(["one", "two"], Eraser())
    assert made == ["one", "two"] and made.unchanged == 1


def test_kinds_are_read_from_a_line() -> None:
    assert read_steps("contextual@20%:a+b/c:d+charswap@0.1+eda") == [
        Step("contextual", 0.2, "a+b/c:d"),
        Step("charswap", 0.1, None),
        Step("eda", None, None),
    ]
    assert is_kind("eda") and is_kind("eda@0.3+charswap")
    assert not is_kind("eda.csv") and not is_kind("my/eda") and not is_kind("virtual")
    chain = make_augmenter("deletion@0.5+charswap", rate=0.3)
    assert [part["rate"] for part in chain.settings()["parts"]] == [0.5, 0.3]


@pytest.mark.parametrize(
    ("kind", "options", "key"),
    [
        ("edda", {}, ("should be one of", " Did you mean 'eda'?")),
        ("virtual", {}, "writes no texts"),
        ("charswap", {"rate": 0}, "should be above 0"),
        ("charswap@1.5", {}, "should be above 0"),
        ("charswap@1.2.3", {}, "KIND@RATE"),
    ],
)
def test_what_cannot_be_made_is_refused(kind: Any, options: dict, key: Any) -> None:
    with raises(UsageError, key):
        coterie.augment(["a text"], kind, **options)


def test_a_chain_applies_one_after_the_other() -> None:
    texts = ["one two three four five six", "where is my parcel today"]
    chain = make_augmenter("deletion@0.5+deletion@0.5")
    assert [len(made.split()) for made in reword(chain, texts)] == [2, 2]  # 6, 3, 2 and 5, 3, 2
    keys = text_keys(texts, {})
    own = [bits(keys, CHAIN, number) for number in (0, 1)]  # each step draws numbers of its own
    once, step = Deletion(0.5).apply(texts, own[0]), Deletion(0.5)
    assert chain.apply(texts, keys) == step.apply(once, own[1])


def test_methods_take_a_kind_as_views(topics) -> None:
    texts = topics[0][:30]
    views = read_views("charswap", texts, seed=7)
    assert views == [coterie.augment(texts, "charswap", seed=7, view=v) for v in (1, 2)]
    assert views[0] != views[1]
    mixed = read_views(["charswap", "deletion@0.5"], texts, seed=7)
    assert mixed[1] == coterie.augment(texts, "deletion@0.5", seed=7, view=2)

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
    from coterie.base.fitting import Fitting

    model = AECL(3, encoder="tfidf", random_state=0, views="charswap")
    assert Fitting(model, topics[0][:20], None).inputs.views.shape[0] == 2
    model = SCCL(3, encoder="tfidf", random_state=0, views="charswap")
    assert Fitting(model, topics[0][:20], None).inputs.views.shape[0] == 3


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
