"""What a fitted model becomes: a clustering with described clusters, a map and a page, in a folder.

Where a sample was fitted, its clusters are described and saved first. Then all rows are labelled
and counted, part by part, in memory that does not grow with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from coterie._util.facts import hardware, now, peak_memory
from coterie._util.progress import make_progress, working
from coterie._util.types import Bools, Ints
from coterie._util.validation import check_device
from coterie.arrays.tree import Tree
from coterie.describe import (
    Cluster,
    count_terms,
    describe_nodes,
    describe_numbered,
    names_by_number,
)
from coterie.describe.summary import CLOSE
from coterie.describe.tally import Tally
from coterie.describe.terms import Terms
from coterie.describe.tree import Nodes, TreeRows, by_number, node_names, with_parents
from coterie.encoders import SentenceEncoder
from coterie.models.clusterer import TextClusterer
from coterie.models.edited import EditedAssigner, Merge, edited
from coterie.options import ClusterOptions
from coterie.runs.clustering import Clustering, describe_rows
from coterie.runs.exports import write_clusters as cluster_workbook
from coterie.runs.label import Labeller
from coterie.runs.large import label, label_by_ray
from coterie.runs.page_data import PageRows, make_map
from coterie.runs.store import write, write_clusters
from coterie.runs.table import own_columns, result_columns
from coterie.texts import Corpus, LargeTable, write_rows
from coterie.texts.corpus import combine
from coterie.texts.write import open_table

if TYPE_CHECKING:
    from coterie.runs.editing.keep import EarlierRun

MAP_MEMORY = 128  # megabytes of distances at a time; by default it would be eight times that


class Results:
    """The results of a fitted model, and how they are written.

    ``facts`` are the manifest so far; ``earlier`` is the run whose numbers and names are taken
    over.
    """

    def __init__(
        self,
        facts: dict[str, Any],
        options: ClusterOptions,
        model: TextClusterer,
        corpus: Corpus,
        earlier: EarlierRun | None = None,
    ) -> None:
        self.facts, self.options, self.model = facts, options, model
        self.corpus, self.earlier = corpus, earlier
        self.remarks: list[str] = []  # about single files, in sentences

    def write(self, work: Path) -> None:
        """Write all files into a folder that nobody reads yet."""
        if self.corpus.large is None:
            self.write_whole(work)
        else:
            self.write_sampled(work, self.corpus.large)

    def topics(self) -> dict[int, Any] | None:
        """Words of the topics of each cluster, which only some methods find."""
        topics = getattr(self.model, "topics_", None)
        if topics is None or self.earlier is None:
            return None if topics is None else dict(enumerate(topics))
        return dict(zip(self.earlier.numbers, topics, strict=False))

    def fitted(self, terms: Terms) -> dict[str, Any]:
        """What the manifest says about the fit, and about the words of its texts."""
        model = self.model
        told: dict[str, Any] = (
            {} if model.reading_ is None else {"reading": model.reading_.to_dict()}
        )
        inner = getattr(model.encoder_, "inner", model.encoder_)
        if isinstance(inner, SentenceEncoder):
            told["precision"] = inner.encode_precision
        if model.encoder_notes_:
            told["warnings"] = list(model.encoder_notes_)
        return {
            "seed": model.seed_,
            "encoder": {"used": model.encoder_.kind, **told},
            "guard": model.guard_.to_dict() if model.guard_ is not None else None,
            "seconds": model.seconds_,
            "remarks": [*model.remarks(), *terms.remarks()],
        }

    @property
    def finished(self) -> dict[str, Any]:
        """What the manifest says about the end of the run."""
        device = str(check_device(self.model.device))
        return {
            "finished": now(),
            "hardware": hardware(device),
            "peak_memory": peak_memory(device),
        }

    def outliers(self, marked: int) -> dict[str, Any]:
        """What the manifest says about outliers; nothing if none were asked for."""
        limit = self.model.outlier_limit_
        return {"outliers": {"marked": marked, **limit.to_dict()}} if limit is not None else {}

    def mark(self) -> tuple[Bools | None, TreeRows]:
        """Which texts are outliers, None if none were asked for; and the merge tree, see `grow`."""
        model, grown, limit = self.model, self.grow(), self.options.max_outliers
        if limit is None:
            return None, grown
        marked = model.mark_outliers(limit)
        if grown.tree.column == "cluster":
            return marked, grown
        from coterie.runs.editing.apply import prune
        from coterie.runs.editing.edit import edited_limit

        # Limits are kept for the finest clusters; some of these may have outliers alone.
        found, assigner = model.outlier_limit_, model.assigner_
        assert found is not None and isinstance(assigner, EditedAssigner)
        kept = {leaf: v for c, v in found.kept.items() for leaf in grown.tree.below(c)}
        tree, steps = prune(grown.tree, grown.finest, marked)
        model.outlier_limit_ = edited_limit(replace(found, kept=kept), steps)
        model.assigner_ = replace(assigner.then(*steps), cut=tree.cut())
        return marked, replace(grown, tree=tree)

    def grow(self) -> TreeRows:
        """The merge tree, without names, and the finest cluster of each row."""
        model, finest = self.model, self.model.leaf_labels_
        tree, used = model.tree_, np.unique(finest[finest >= 0])
        if self.earlier is not None:
            tree = self.earlier.numbered(tree)
        empty = np.setdiff1d(tree.leaves, used).tolist()
        if empty:  # labels may have taken all texts of a cluster
            tree, steps = tree.without(empty)
            assigner = edited(model.assigner_, model.n_clusters_)
            model.assigner_ = assigner.then(*(Merge(clusters, into) for clusters, into in steps))
            model.n_clusters_ = tree.finest
        if self.options.levels:
            tree = tree.with_levels(self.options.levels)
        return TreeRows(tree, {}, finest)

    def name_tree(
        self, grown: TreeRows, labels: Ints, names: Mapping[int, str | None], terms: Terms
    ) -> dict[int, Cluster]:
        """All clusters of the tree; those with names keep them."""
        given = {i: name for i, name in names.items() if name is not None}
        marked = np.where(labels >= 0, grown.finest, -1)
        inside, vectors = grown.tree.inside(), self.model.vectors_
        return describe_nodes(self.corpus.texts, marked, inside, vectors, names=given, terms=terms)

    def assign(self, work: Path) -> Clustering:
        """The clustering of texts that were all fitted."""
        corpus = self.corpus
        model, earlier, facts = self.model, self.earlier, dict(self.facts)
        if earlier is not None:
            from coterie.runs.editing.keep import keep

            _ = model.tree_  # it is grown before clusters get other numbers
            keep(model, earlier)
            if "guidance" in facts:
                numbers = earlier.numbers[: len(model.classes_)]
                facts["guidance"] = {**facts["guidance"], "numbers": numbers}
        marked, grown = self.mark()
        if earlier is not None:
            facts["editing"] = earlier.editing()
        p = model.probabilities_
        labels = model.labels_ if marked is None else np.where(marked, -1, model.labels_)
        classes: dict[int, str | None] = dict(enumerate(model.classes_))
        given = classes if earlier is None else earlier.names
        terms = count_terms(corpus.texts)
        nodes = self.name_tree(grown, labels, given, terms)
        clusters = describe_rows(
            corpus.table,
            (corpus.text_column, corpus.id_column),
            corpus.texts,
            labels,
            model.vectors_,
            p,
            {**given, **{i: node.name for i, node in nodes.items()}},
            self.topics(),
            terms=terms,
        )
        clusters = with_parents(grown.tree, nodes, clusters)
        nodes = by_number(nodes, clusters)
        levels = replace(grown, names=node_names(nodes))
        names = names_by_number(clusters, p.shape[1])  # some may have no text
        scores = model.outlier_scores()
        results = result_columns(model.labels_, p, names, scores, marked, levels)
        facts |= self.fitted(terms) | ({} if marked is None else self.outliers(int(marked.sum())))
        return Clustering(
            work,
            facts,
            combine(corpus.table, results),
            clusters,
            grown.tree,
            nodes,
            make_map(model.vectors_, model.labels_, model.seed_, marked, corpus.texts),
            model,
        )

    def write_whole(self, work: Path) -> None:
        """Write the clustering of texts that were all fitted."""
        run = self.assign(work)
        for form in dict.fromkeys(self.options.write):
            if form != "csv":
                self.remarks += write_rows(work / f"assignments.{form}", run.table, {})
        if "xlsx" in self.options.write:
            workbook = work / "clusters.xlsx"
            self.remarks += cluster_workbook(workbook, run.clusters, run.tree, run.nodes)
        self.model.save(work / "model", include_encoder=self.options.include_encoder)
        write(work, replace(run, facts={**run.facts, **self.finished}))

    def write_sampled(self, work: Path, large: LargeTable) -> None:
        """Describe the sample and save the model; then label all rows."""
        fitted, described, places = self._write_sample(work, large)
        clusters, tree, nodes = described
        parts = label(large, Labeller(self.model, clusters, (tree, nodes)))
        if large.files:
            parts = label_by_ray(large.files, self.options.workers, work, large.text_column)
        tally, rows = Tally(large.columns, CLOSE, tree.column), PageRows(places["rows"])
        self._write_rows(work, large, parts, tally, rows)
        facts = {**self.facts, **fitted, **self.finished, **self.outliers(tally.outliers)}
        facts["figures"] = tally.figures()
        shown = pa.concat_tables(rows.shown)
        clusters, nodes = count_rows(tally, clusters, tree, nodes)
        write(work, Clustering(work, facts, shown, clusters, tree, nodes, places), rows=rows)

    def _write_sample(
        self, work: Path, large: LargeTable
    ) -> tuple[dict[str, Any], tuple[list[Cluster], Tree, dict[int, Cluster]], dict[str, Any]]:
        """Write the model and its clusters; facts about the fit, described clusters, the map."""
        model, (marked, grown) = self.model, self.mark()
        labels = model.labels_ if marked is None else np.where(marked, -1, model.labels_)
        terms = count_terms(self.corpus.texts)
        nodes = self.name_tree(grown, labels, {}, terms)
        clusters = describe_numbered(
            self.corpus.texts,
            labels,
            model.vectors_,
            {i: node.name for i, node in nodes.items()},
            probabilities=model.probabilities_,
            topics=self.topics(),
            terms=terms,
        )
        clusters = with_parents(grown.tree, nodes, clusters)
        described = clusters, grown.tree, by_number(nodes, clusters)
        places = self._map(large, marked)
        model.save(work / "model", include_encoder=self.options.include_encoder)
        write_clusters(work, *described)
        return self.fitted(terms), described, places

    def _map(self, large: LargeTable, marked: Bools | None) -> dict[str, Any]:
        """The texts of the sample on the map, each at its first row."""
        from sklearn import config_context

        model, found = self.model, large.survey
        place = {text: i for i, text in reversed(list(enumerate(self.corpus.texts)))}
        rows = np.array([place[text] for text in found.texts])
        odd = None if marked is None else marked[rows]
        with config_context(working_memory=MAP_MEMORY):
            vectors, labels = model.vectors_[rows], model.labels_[rows]
            made = make_map(vectors, labels, model.seed_, odd, found.texts)
        return made | {"rows": found.first[made["rows"]].tolist(), "total": found.filled}

    def _write_rows(
        self,
        work: Path,
        large: LargeTable,
        parts: Iterable[pa.Table],
        tally: Tally,
        rows: PageRows,
    ) -> None:
        """Write the tables of all rows, count them, and keep what the page needs."""
        total = len(self.corpus)
        with ExitStack() as opened:
            forms = dict.fromkeys(("csv", *self.options.write))
            tables = [
                opened.enter_context(open_table(work / f"assignments.{form}")) for form in forms
            ]
            progress = make_progress(self.options.verbose)
            opened.enter_context(working(progress, "assign", total))
            for part in parts:
                for table in tables:
                    table.write(part, {})
                own = own_columns(part.column_names).items()
                tally.add(part, {name: part[column].to_pylist() for name, column in own})
                rows.add(part)
                progress.advance(tally.rows)
        if tally.rows != total:
            raise large.changed()


def count_rows(
    tally: Tally, clusters: Sequence[Cluster], tree: Tree, nodes: Nodes
) -> tuple[list[Cluster], dict[int, Cluster]]:
    """Clusters, and all of the tree, described by a sample, with the sizes of all rows."""
    counted, sizes = tally.apply(clusters), tree.sizes(tally.leaves)
    resized = [tally.resized(node, sizes[i]) for i, node in nodes.items()]
    return counted, by_number({}, resized, counted)
