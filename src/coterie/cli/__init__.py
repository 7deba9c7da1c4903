"""The command line: one verb per file; heavy libraries are imported when a verb needs them."""

from coterie.cli.app import app, main

__all__ = ["app", "main"]
