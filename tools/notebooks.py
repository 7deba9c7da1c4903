"""Run the notebooks of the examples, and keep what they show in them.

    python tools/notebooks.py [NAME ...]

Each runs in a folder of its own, beside the data files. A test runs them again, and fails where a
cell shows something of another kind. What it says may differ a little: other processors round
otherwise, and a text between two clusters then goes to the other one.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
SECONDS = 900  # that a cell may take
COLORS = 64  # of a picture; more make files large


def execute(path: Path) -> Any:
    """The notebook with all outputs made anew."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as place:
        for data in path.parent.glob("*.csv"):
            shutil.copy(data, place)
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": place}},
        )
        client.execute()
    for cell in code_cells(notebook):
        # Progress and warnings of libraries tell about this machine, not about the example.
        cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
    for output in (output for cell in code_cells(notebook) for output in cell.outputs):
        if picture := output.get("data", {}).get("image/png"):
            output["data"]["image/png"] = smaller(picture)
    notebook.metadata.pop("language_info", None)  # tells the version of Python
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    """Cells that are run, in their order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(notebook: Any) -> list[list[str]]:
    """What each cell shows: printed lines, tables, pictures."""
    return [
        [" ".join(sorted(output.get("data", {"printed": ""}))) for output in cell.outputs]
        for cell in code_cells(notebook)
    ]


def smaller(picture: str) -> str:
    """A picture with fewer colours."""
    file = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(COLORS).save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if path.stem in (sys.argv[1:] or [path.stem]):
            nbformat.write(execute(path), path)
