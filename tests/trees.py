"""Runs with a merge tree: texts to make one of, and whether all files of one agree."""

from pathlib import Path

import numpy as np

import coterie
from coterie.describe.tree import node_names
from coterie.models.edited import edited
from coterie.runs.clustering import Clustering
from whole_runs import read_whole

THINGS = {
    "money": ["invoice", "refund", "payment", "voucher"],
    "post": ["parcel", "courier", "depot", "label"],
    "garden": ["mower", "hedge", "seeds", "shed"],
}


def nested_texts(each: int = 8) -> list[str]:
    """Texts about twelve things of three kinds."""
    rng, out = np.random.default_rng(0), []
    for kind, things in THINGS.items():
        for thing in things:
            for _ in range(each):
                own = rng.choice([f"{thing}{i}" for i in "abcd"], 2, replace=False)
                wide = rng.choice([f"{kind}{i}" for i in "xyz"], 2, replace=False)
                out.append(" ".join([thing, *own, *wide, kind]))
    return out


def whole(folder: Path) -> Clustering:
    """The run, after everything in it was compared with everything else."""
    run = read_whole(folder)
    tree, filled = run.tree, run.nearest >= 0
    known = edited(run.model.assigner_, run.model.n_clusters_).clusters
    assert tree.shown() == sorted(run.names) == known
    assert tree.at == len(run.clusters) == run.model.n_clusters_
    assert [tree.cut()[i] for i in run.finest[filled].tolist()] == run.nearest[filled].tolist()
    for number, node in run.nodes.items():
        assert 0 < node.size == (run.rows_in(number) & ~run.outliers).sum()
    called = node_names(run.nodes)
    names = [name.casefold() for name in called.values()]
    assert len(set(names)) == len(names) == max(2 * tree.finest - 2, 1)
    for level in tree.levels:
        here = {**tree.cut(level), -1: -1}
        told = coterie.Run(folder).predict([str(text) for text in run.texts], level=level)
        wanted = np.where(run.outliers, -1, [here[i] for i in run.finest.tolist()]).tolist()
        both = zip(told["cluster"].to_pylist(), wanted, strict=True)
        grown = "updates" in run.facts  # then outliers may have neighbours now
        assert all(now == before for now, before in both if before >= 0 or not grown)
        columns = [told["name"].to_pylist()]
        if tree.number(level) != tree.at:
            last = level == list(tree.levels)[-1]  # from which other cuts are made
            assert run.column(run.own[level]) == (run.finest.tolist() if last else wanted)
            columns.append(run.column(run.own[f"{level}_name"]))
        for names in columns:
            assert all(name == called.get(i, name) for i, name in zip(wanted, names, strict=True))
    return run


def members(run: Clustering, number: int) -> set[int]:
    return set(np.flatnonzero(run.rows_in(number) & ~run.outliers).tolist())
