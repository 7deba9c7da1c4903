"""A finished run, read from its folder to be edited."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from coterie._errors import DataError
from coterie._trust import inside
from coterie._types import Bools, Floats, Ints
from coterie.base.storage import read_config
from coterie.comparison.side import meaning
from coterie.editing.state import State
from coterie.report import own_columns, read_columns
from coterie.run_files import (
    check_known,
    model_folder,
    read_clusters,
    read_levels,
    read_manifest,
    read_map,
    whole_numbers,
)


class EditableRun:
    """The files of a run; the model is loaded only if an edit needs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = read_manifest(folder)
        self.stamp = (folder / "manifest.json").read_bytes()
        self.columns = read_columns(inside(folder, "assignments.csv"))
        self.own = own_columns(self.columns)
        self.clusters = read_clusters(folder)
        read_levels(folder)
        read_map(folder)
        self.text_column = self.manifest["data"]["text_column"]
        self.id_column = self.manifest["data"].get("id_column")
        needed = ["name", "outlier"] if "nearest_cluster" in self.own else ["name"]
        for name in (self.text_column, self.id_column, *needed):
            if name is not None and name not in self.columns and name not in self.own:
                raise DataError(f"{folder}: assignments.csv has no column {name!r}.")
        check_known(self.labels.tolist(), self.clusters, folder)
        self.texts = [meaning(text) for text in self.columns[self.text_column]]

    @cached_property
    def model(self) -> Any:
        """The saved model."""
        from coterie.methods import load

        return load(inside(self.folder, "model"))

    @cached_property
    def vectors(self) -> Floats:
        """Vectors of all rows."""
        return np.asarray(self.model.transform(self.texts))

    @property
    def outliers(self) -> Bools | None:
        """Which rows fit no cluster; None if the run was not asked for them."""
        if "nearest_cluster" not in self.own:
            return None
        return np.array([value == "yes" for value in self.columns[self.own["outlier"]]])

    @property
    def labels(self) -> Ints:
        """Cluster of each row; of outliers, the nearest one."""
        known = self.columns[self.own["cluster"]]
        odd = self.outliers
        if odd is not None:
            nearest = self.columns[self.own["nearest_cluster"]]
            known = [n if o else c for c, n, o in zip(known, nearest, odd, strict=True)]
        path = self.folder / "assignments.csv"
        return np.array(whole_numbers(known, path, "cluster"), dtype=np.int64)

    @property
    def levels(self) -> list[int]:
        """Clusters of each nested level that the run was asked for."""
        return list(self.manifest.get("handover", {}).get("levels", []))

    @property
    def n_themes(self) -> int | None:
        """Broad themes that the run has; None if its clusters were not grouped into themes."""
        above = read_levels(self.folder)
        if above is None or not above.themes:
            return None
        return len(above.levels[0]) if above.levels else 0

    def state(self) -> State:
        """A working copy to edit."""
        config = read_config(model_folder(self.folder))
        earlier = self.manifest.get("editing", {})
        labels, odd = self.labels, self.outliers
        highest = max(int(labels.max(initial=-1)), config["n_clusters"] - 1)
        return State(
            texts=self.texts,
            labels=labels,
            get_vectors=lambda: self.vectors,
            names={c.id: c.name for c in self.clusters},
            next_id=earlier.get("next_id", highest + 1),
            ids=None if self.id_column is None else self.columns[self.id_column],
            outliers=np.zeros(len(labels), dtype=bool) if odd is None else odd,
            locked=set(earlier.get("locked", [])),
            named=set(earlier.get("named", [])),
            corrections=dict(config.get("corrections", {})),
            seed=int(self.manifest.get("seed") or 0),
        )

    def check_unchanged(self, folder: Path) -> None:
        """Refuse to write over what somebody else has changed meanwhile."""
        if (folder / "manifest.json").read_bytes() != self.stamp:
            raise DataError(f"{self.folder} was changed by another command meanwhile; try again.")
