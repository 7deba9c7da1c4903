"""What a cluster is about: its words, a name and examples; never sees a model."""

from coterie.description.cluster import Cluster
from coterie.description.columns import guess_columns
from coterie.description.cut import tokens
from coterie.description.dates import Periods, parse_dates, sort_into_periods
from coterie.description.describe import describe
from coterie.description.neighbors import Neighbor
from coterie.description.numbered import describe_numbered, names_by_number, rename_clusters

__all__ = [
    "Cluster",
    "Neighbor",
    "Periods",
    "describe",
    "describe_numbered",
    "guess_columns",
    "names_by_number",
    "parse_dates",
    "rename_clusters",
    "sort_into_periods",
    "tokens",
]
