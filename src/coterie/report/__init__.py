"""The page that shows a clustering: one HTML file, no network."""

from coterie.report.html import (
    Branch,
    Outlier,
    Outliers,
    ReportData,
    cluster_tree,
    render,
    without_texts,
    write_report,
)
from coterie.report.points import Points
from coterie.report.quality import Figure

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
