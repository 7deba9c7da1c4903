"""All clusters of a merge tree: names that hold in every cut, and cover what they name."""

import numpy as np
import pytest

from coterie._util.types import Ints
from coterie.arrays.tree import Tree, numbered
from coterie.describe import Cluster, describe_clusters, describe_nodes
from coterie.describe.nodes import COVERS, LARGE_PART
from coterie.describe.terms import Terms
from coterie.describe.words import LARGE, ClusterTerms
from coterie.errors import UsageError
from coterie.texts.words import stem
from said import raises

THEMES = ["card", "loan", "parcel", "heating"]
MATTERS = ["lost", "late", "refund", "broken", "stolen"]


def random_tree(seed: int, leaves: int = 12, texts: int = 240) -> tuple[list[str], Ints, Tree]:
    """Texts of a theme and a matter, in leaves that overlap in words, merged at random."""
    rng = np.random.default_rng(seed)
    leaf = np.concatenate([np.arange(leaves), rng.integers(leaves, size=texts - leaves)])
    said = [f"{THEMES[i % 4]} {MATTERS[i // 4]} {' '.join(rng.choice(MATTERS, 2))}" for i in leaf]
    free, merges = list(range(leaves)), []
    for union in range(leaves, 2 * leaves - 1):
        one, other = (free.pop(rng.integers(len(free))) for _ in range(2))
        merges.append((one, other))
        free.append(union)
    tree = numbered(merges, np.bincount(leaf), 5)
    return said, np.array(tree.leaves)[leaf], tree


def names_of(nodes: dict[int, Cluster]) -> dict[int, str]:
    return {number: node.name for number, node in nodes.items()}


@pytest.mark.parametrize("seed", range(4))
def test_names_differ_in_every_cut(seed: int) -> None:
    texts, labels, tree = random_tree(seed)
    nodes = describe_nodes(texts, labels, tree.inside())
    root = tree.merges[-1][0]
    assert set(nodes) == {*tree.leaves, *tree.inside()} - {root}
    for n in range(2, tree.finest + 1):
        shown = [nodes[number].name.casefold() for number in tree.shown(n)]
        assert len(set(shown)) == n
    for union, parts in tree.inside().items():
        if union != root:
            assert nodes[union].name not in {nodes[part].name for part in parts}
            assert nodes[union].size == sum(nodes[part].size for part in parts)


def test_names_by_hand() -> None:
    """The theme that the parts share is the union's name; where they share none, one of each."""
    texts = [
        *["card lost"] * 4,
        *["card stolen"] * 4,
        *["rent arrears"] * 6,
        *["boiler broken"] * 6,
    ]
    nodes = describe_nodes(
        texts, np.repeat([0, 1, 2, 3], [4, 4, 6, 6]), {4: (0, 1), 5: (2, 3), 6: (4, 5)}
    )
    assert names_of(nodes) == {
        0: "Card lost", 1: "Card stolen", 2: "Rent arrears", 3: "Boiler broken",
        4: "Card", 5: "Boiler broken, rent arrears",
    }  # fmt: skip
    assert (nodes[4].size, nodes[4].share) == (8, 0.4)
    # By hand: half of the texts of the union hold it, and 4 of 20 of all.
    assert dict(nodes[4].words)["card lost"] == pytest.approx(np.log(2.5) / 2, abs=1e-4)
    assert nodes[5].examples == ["boiler broken", "rent arrears"]


def covered(name: str, texts: list[str]) -> float:
    """Share of the texts that hold a word of the name."""
    words = {stem(word, "en") for word in name.lower().replace(",", "").split()}
    return float(np.mean([bool(words & {stem(w, "en") for w in t.split()}) for t in texts]))


def test_a_name_covers_the_large_parts_of_a_union() -> None:
    """Half of the texts share no word: their part would not be in the name."""
    pills = [f"{word} {i}" for i in range(10) for word in ("cough", "fever", "ache", "rash", "flu")]
    texts = [*pills, *["green tea"] * 25, *["mint gum"] * 25, *["sofa lamp"] * 400]
    labels = np.repeat([0, 1, 2, 3], [50, 25, 25, 400])
    name = describe_nodes(texts, labels, {4: (0, 2), 5: (4, 1), 6: (5, 3)})[5].name
    assert covered(name, pills) == 1 / 5
    assert covered(name, ["green tea"]) == covered(name, ["mint gum"]) == 1


@pytest.mark.parametrize("seed", range(4))
def test_texts_of_every_large_part_hold_a_word_of_the_name(seed: int) -> None:
    texts, labels, tree = random_tree(seed)
    nodes = describe_nodes(texts, labels, tree.inside())
    for union in set(nodes) & set(tree.inside()):
        for part in tree.inside()[union]:
            if nodes[part].size >= LARGE_PART * nodes[union].size:
                own = [t for t, i in zip(texts, labels, strict=True) if i in tree.below(part)]
                assert covered(nodes[union].name, own) >= COVERS, nodes[union].name


def test_given_names_are_kept_and_not_given_twice() -> None:
    texts, labels, tree = random_tree(0)
    made = names_of(describe_nodes(texts, labels, tree.inside()))
    first, second = sorted(made)[:2]
    given = {first: made[second], second: "Anything", 999: "Of no cluster"}
    nodes = describe_nodes(texts, labels, tree.inside(), names=given)
    assert (nodes[first].name, nodes[second].name) == (made[second], "Anything")
    assert set(nodes) == set(made) and len({n.name.casefold() for n in nodes.values()}) == len(made)


def test_nothing_depends_on_the_order_of_rows() -> None:
    texts, labels, tree = random_tree(1)
    order = np.random.default_rng(1).permutation(len(texts))
    there = describe_nodes([texts[i] for i in order], labels[order], tree.inside())
    assert there == describe_nodes(texts, labels, tree.inside())


def test_leaves_are_described_as_clusters_are() -> None:
    texts, labels, _ = random_tree(2)
    ids, codes = np.unique(labels, return_inverse=True)
    nodes = describe_nodes(texts, labels, {})
    for number, cluster in zip(ids, describe_clusters(texts, codes), strict=True):
        node = nodes[number]
        assert (node.size, node.share, node.words) == (cluster.size, cluster.share, cluster.words)
        assert node.examples == cluster.examples and not (node.near or node.diverse)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["card lost", "card stolen", "no heating"], [0, 1, 3]),
        (["12", "34", "", "the"], [0, 1, 2, 3]),
        (["退款申请", "我要退款申请", "คืนเงินช้า", "ขอคืนเงิน"], [0, 1, 2, 2]),
        (["card lost", "card stolen", "no heating"], [-1, -1, -1]),
    ],
)
def test_empty_clusters_no_words_and_scripts_without_blanks(
    texts: list[str], labels: list[int]
) -> None:
    nodes = describe_nodes(texts, labels, {4: (0, 1), 5: (2, 3), 6: (4, 5)})
    assert sorted(nodes) == [0, 1, 2, 3, 4, 5]
    assert len({node.name for node in nodes.values()}) == 6
    for number, node in nodes.items():
        if not node.words:
            assert node.name == f"Cluster {number}"
        assert (node.size == 0) == (not node.examples)


def test_labels_are_of_the_finest_clusters() -> None:
    with raises(UsageError, "labels", "2"):
        describe_nodes(["a", "b"], [0, 2], {2: (0, 1)})


def test_counts_of_a_union_are_those_of_its_texts() -> None:
    """Also of a large one, whose phrases are looked for in some of its texts."""
    texts = ["card lost", "card stolen", "late parcel"] * LARGE
    labels = np.arange(len(texts)) % 3
    terms = Terms(texts)
    union = ClusterTerms(terms, labels, 3, [[0, 1]])[3]
    whole = ClusterTerms(terms, np.where(labels == 2, 1, 0), 2)[0]
    assert union.words == whole.words and union.best(2) == whole.best(2)
    assert union.size == whole.size > len(union.rows) == LARGE
    found, expected = ({term.text: term.weight for term in c.phrases(5)} for c in (union, whole))
    assert found == expected
