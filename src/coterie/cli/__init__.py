"""The command line. A verb parses options, makes one call and prints.

Heavy libraries are imported when a verb needs them.
"""

from coterie.cli.app import app, main

__all__ = ["app", "main"]
