"""The page that shows a clustering: one HTML file, no script, no network."""

from coterie.report.html import ReportData, render, write_report

__all__ = ["ReportData", "render", "write_report"]
