"""What coterie imports leaves nothing behind and calls nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("given", [None, "0"])
def test_onnxruntime_leaves_no_files_unless_somebody_wants_it(
    given: str | None, tmp_path: Path
) -> None:
    """Without the variable it keeps a device id and a database of events in these folders."""
    places = {
        name: tmp_path / name for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    }
    for place in places.values():
        place.mkdir()
    environment = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}
    environment |= {name: str(place) for name, place in places.items()} | {"COTERIE_CACHE": "off"}
    environment |= {} if given is None else {"ORT_DISABLE_TELEMETRY": given}
    code = (
        "from coterie.encoders.int8 import largest_weight\n"
        "largest_weight()\n"  # a session of onnxruntime
    )
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    left = [p for place in places.values() for p in place.rglob("*") if p.is_file()]
    if given is None:
        assert not left
    elif not left:
        pytest.skip("this build of onnxruntime has no telemetry")
