"""Puts the files of the model into the wheel, if they are the ones listed in ``model.sha256``.

They are never committed: they come from wherever coterie finds its default encoder on this machine,
the cache of Hugging Face or an installed package. ``make minilm`` builds the wheel.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from coterie._util.files import sha256_file
from coterie.encoders.load import DEFAULT, locate


class Model(BuildHookInterface[Any]):
    """Adds files to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compare the digests, and name the files."""
        folder = locate(DEFAULT)
        for line in (Path(self.root) / "model.sha256").read_text("utf-8").splitlines():
            digest, name = line.split()
            if sha256_file(folder / name) != digest:
                raise SystemExit(f"{folder / name} is another file than model.sha256 lists.")
            build_data["force_include"][str(folder / name)] = f"coterie_minilm/model/{name}"
