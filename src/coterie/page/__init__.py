"""The page that shows a clustering: one HTML file, no network."""

from coterie.page.html import (
    Branch,
    Outlier,
    Outliers,
    ReportData,
    cluster_tree,
    render,
    without_texts,
    write_report,
)
from coterie.page.points import Points
from coterie.page.quality import Figure

__all__ = [
    "Branch",
    "Figure",
    "Outlier",
    "Outliers",
    "Points",
    "ReportData",
    "cluster_tree",
    "render",
    "without_texts",
    "write_report",
]
