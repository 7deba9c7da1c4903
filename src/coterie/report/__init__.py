"""The page that shows a clustering: one HTML file, no network."""

from coterie.report.folder import read_run, write_map
from coterie.report.html import ReportData, render, without_texts, write_report
from coterie.report.points import Points
from coterie.report.quality import Figure

__all__ = [
    "Figure",
    "Points",
    "ReportData",
    "read_run",
    "render",
    "without_texts",
    "write_map",
    "write_report",
]
