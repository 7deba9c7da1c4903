"""What a cluster is about: its words, a name and examples; never sees a model."""

from coterie.describe.columns import Periods, parse_dates, sort_into_periods
from coterie.describe.describe import (
    Cluster,
    Neighbor,
    count_terms,
    describe_clusters,
    describe_numbered,
    final_names,
    names_by_number,
    rename_clusters,
    text_order,
)
from coterie.describe.nodes import describe_nodes
from coterie.describe.tally import find_periods, guess_columns
from coterie.texts.words.cutting import tokens

__all__ = [
    "Cluster",
    "Neighbor",
    "Periods",
    "count_terms",
    "describe_clusters",
    "describe_nodes",
    "describe_numbered",
    "final_names",
    "find_periods",
    "guess_columns",
    "names_by_number",
    "parse_dates",
    "rename_clusters",
    "sort_into_periods",
    "text_order",
    "tokens",
]
