"""Two clusterings side by side: what was kept, split, merged, born or died, and who moved."""

from coterie.comparison.compare import compare, jaccard, links, partners, statuses
from coterie.comparison.result import Change, Comparison, Flow
from coterie.comparison.side import Side, make_side, read_run_side, read_table_side

__all__ = [
    "Change",
    "Comparison",
    "Flow",
    "Side",
    "compare",
    "jaccard",
    "links",
    "make_side",
    "partners",
    "read_run_side",
    "read_table_side",
    "statuses",
]
