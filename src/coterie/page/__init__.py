"""The page that shows a clustering: one HTML file, no network."""

from coterie.page.html import (
    Outlier,
    Outliers,
    ReportData,
    render,
    without_texts,
    write_report,
)
from coterie.page.points import Points
from coterie.page.quality import Figure

__all__ = [
    "Figure",
    "Outlier",
    "Outliers",
    "Points",
    "ReportData",
    "render",
    "without_texts",
    "write_report",
]
