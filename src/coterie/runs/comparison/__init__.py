"""Two clusterings side by side, and two clusters of one: what is kept, moved or different."""

from coterie.runs.comparison.clusters import ClusterComparison, Compared, Contrast, compare_clusters
from coterie.runs.comparison.compare import compare, jaccard, links, partners, statuses
from coterie.runs.comparison.result import Change, Comparison, Flow
from coterie.runs.comparison.side import Side, make_side, read_run_side, read_table_side

__all__ = [
    "Change",
    "ClusterComparison",
    "Compared",
    "Comparison",
    "Contrast",
    "Flow",
    "Side",
    "compare",
    "compare_clusters",
    "jaccard",
    "links",
    "make_side",
    "partners",
    "read_run_side",
    "read_table_side",
    "statuses",
]
