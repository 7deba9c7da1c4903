"""What a CPU can do in bfloat16, and what tells one model's weights from another's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def has_bfloat16() -> bool:
    """Whether this CPU multiplies in bfloat16; others would only imitate it, slowly."""
    checks = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(bool(getattr(torch.cpu, name, bool)()) for name in checks)


def weights_digest(model: Any, state: Mapping[str, Tensor]) -> str:
    """Digest of the modules of a model, their settings and their weights."""
    digest = hashlib.sha256()
    for module in model:
        config: dict[str, Any] = getattr(module, "get_config_dict", dict)()
        inner = getattr(getattr(module, "auto_model", None), "config", None)
        digest.update(repr((type(module).__name__, sorted(config.items(), key=str))).encode())
        digest.update(b"" if inner is None else inner.to_json_string(use_diff=False).encode())
    for name, tensor in state.items():
        whole = tensor.detach().cpu().contiguous()
        digest.update(repr((name, whole.dtype, tuple(whole.shape))).encode())
        digest.update(whole.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
