"""Fetching a data set from its public address: resumed, checked, converted."""

from __future__ import annotations

import hashlib
import logging
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from coterie._errors import DataError, MissingError
from coterie._files import atomic_path
from coterie._progress import Progress, Silent
from coterie._validation import check_choice
from coterie.datasets.cards import CARDS
from coterie.datasets.convert import convert
from coterie.datasets.files import default_folder

log = logging.getLogger(__name__)

BLOCK = 1 << 16
TIMEOUT = 30.0


def get_dataset(
    name: str,
    folder: Path | None = None,
    *,
    urls: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download a data set into ``folder`` and return the path of its CSV.

    Parameters
    ----------
    name : str
        One of ``CARDS``.
    folder : Path, optional
        Default: ``COTERIE_DATA``, else a cache folder of the user.
    urls : sequence of str, optional
        Mirrors of the source files, in the card's order; the checksum stays the same.
    progress : Progress, optional
    """
    card = CARDS[check_choice("data set", name, CARDS)]
    folder = folder or default_folder()
    target = folder / card.file
    if target.exists() and _digest(target.read_bytes()) == card.sha256:
        log.info("%s is already there", target)
        return target
    if not (urls or card.urls):
        raise MissingError("datasets.not_found", name=name, folder=folder, remedy=card.remedy)
    parts = [
        fetch(url, folder / f".{card.file}.{number}.part", progress or Silent())
        for number, url in enumerate(urls or card.urls)
    ]
    content = convert(card.format, [part.read_bytes() for part in parts])
    if _digest(content) != card.sha256:
        for part in parts:
            part.unlink(missing_ok=True)
        raise DataError(
            "datasets.download_differs",
            address=card.address,
            name=name,
            found=_digest(content)[:12],
            expected=card.sha256[:12],
        )
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)
    for part in parts:
        part.unlink(missing_ok=True)
    return target


def fetch(url: str, part: Path, progress: Progress) -> Path:
    """Download ``url`` to ``part``, continuing what an earlier attempt left there."""
    part.parent.mkdir(parents=True, exist_ok=True)
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            resumed = answer.status == 206
            have = have if resumed else 0
            total = have + int(answer.headers.get("Content-Length") or 0)
            progress.start("download", max(total, 1), have)
            with part.open("ab" if resumed else "wb") as file:
                while block := answer.read(BLOCK):
                    file.write(block)
                    have += len(block)
                    progress.advance(have)
            progress.stop()
    except urllib.error.HTTPError as error:
        if error.code == 416:  # everything is there already
            return part
        raise MissingError(
            "datasets.bad_answer", url=url, code=error.code, reason=error.reason
        ) from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise MissingError("datasets.not_reached", url=url, reason=reason) from error
    return part


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
