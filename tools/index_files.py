"""Digests of all files of a package's version, as the sources that pip uses list them.

Sources are the index, further indexes and folders of the configuration of pip, which is asked for
them; the answers may be JSON or HTML. One file name with two digests is an error: one of the
sources holds something else under the name of the other.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import Request, urlopen

from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

JSON = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{JSON}, text/html;q=0.1"


class Links(HTMLParser):
    """Addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of an anchor."""
        self.found += [value for name, value in attrs if (tag, name) == ("a", "href") and value]


def pip(*arguments: str) -> str:
    """What pip answers, in lines that are not broken."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=True,
        env={**os.environ, "COLUMNS": "400"},
    )  # fmt: skip
    return done.stdout


def settings(listing: str) -> dict[str, list[str]]:
    r"""Values of each option in the output of ``pip config list``.

    Examples
    --------
    >>> settings("global.extra-index-url='a b'\n:env:.cert='c'")
    {'extra-index-url': ['a', 'b'], 'cert': ['c']}
    """
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"^\S*\.([a-z-]+)=(.+)$", listing, re.MULTILINE):
        found[key] = str(ast.literal_eval(value)).split()  # an environment variable comes later
    return found


@functools.cache
def sources() -> tuple[list[str], list[str], str | None]:
    """Indexes, folders or pages of files, and the file of certificates, as pip is told."""
    told = settings(pip("config", "list"))
    first = (
        told.get("index-url")
        or re.findall(
            r"(https?://[^\s)]+)\)", pip("install", "--help").partition("--index-url")[2]
        )[:1]
    )
    certificates = told.get("cert", [None])[0]
    return [*first, *told.get("extra-index-url", [])], told.get("find-links", []), certificates


def parsed(file: str) -> tuple[str, Version] | None:
    """The package and version that the name of a file says; nothing for other files.

    Examples
    --------
    >>> parsed("torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl")
    ('torch', <Version('2.13.0+cpu')>)
    """
    try:
        if file.endswith(".whl"):
            return parse_wheel_filename(file)[:2]
        return parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None


def listed(page: bytes, kind: str) -> dict[str, str]:
    """File names and SHA-256 digests of a page of an index.

    Examples
    --------
    >>> listed(b'<a href="../f/a-1.tar.gz#sha256=0f">a</a>', "text/html")
    {'a-1.tar.gz': '0f'}
    """
    if kind == JSON:
        files = json.loads(page)["files"]
        return {f["filename"]: f["hashes"]["sha256"] for f in files if "sha256" in f["hashes"]}
    links = Links()
    links.feed(page.decode("utf-8"))
    parts = [urlsplit(link) for link in links.found]
    return {
        unquote(part.path).rpartition("/")[2]: part.fragment.removeprefix("sha256=")
        for part in parts
        if part.fragment.startswith("sha256=")
    }


def read(address: str, certificates: str | None) -> tuple[bytes, str]:
    """A page and its kind; an empty one where the index does not know the package."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        page = Path(unquote(parts.path)) / "index.html"
        return page.read_bytes() if page.exists() else b"", "text/html"
    try:
        trusted = ssl.create_default_context(cafile=certificates)
        asked = Request(address, headers={"Accept": ACCEPT})
        with urlopen(asked, timeout=180, context=trusted) as answer:
            return answer.read(), answer.headers.get_content_type()
    except HTTPError as error:
        if error.code == 404:
            return b"", "text/html"
        raise


def in_folder(folder: Path, wanted: tuple[str, Version]) -> dict[str, str]:
    """File names and digests of one version in a folder."""
    files = [file for file in sorted(folder.iterdir()) if parsed(file.name) == wanted]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def files_of(name: str, version: str) -> dict[str, str]:
    """Digests of all files of one version that any source has, by the file's name.

    A version with a local part, such as ``2.13.0+cpu``, is looked for exactly.
    """
    indexes, places, certificates = sources()
    wanted = canonicalize_name(name), Version(version)
    pages = [urljoin(index.rstrip("/") + "/", wanted[0] + "/") for index in indexes]
    pages += [place for place in places if "://" in place]
    lists = [listed(*read(page, certificates)) for page in pages]
    lists += [in_folder(Path(place), wanted) for place in places if "://" not in place]
    found: dict[str, str] = {}
    for files in lists:
        for file, digest in files.items():
            if parsed(file) == wanted and found.setdefault(file, digest) != digest:
                raise SystemExit(f"{file} has two digests, depending on who is asked")
    if not found:
        raise SystemExit(f"no source of pip lists a file of {name} {version}")
    return found


def fits(files: Iterable[str], machine: str) -> bool:
    """Whether one of the files is a wheel for CPython 3.11 on Linux and this kind of machine.

    Examples
    --------
    >>> files = ["a-1-cp311-abi3-manylinux_2_17_aarch64.whl", "b-1-cp311-cp311-win_arm64.whl"]
    >>> fits(files, "aarch64"), fits(files, "x86_64"), fits(["a-1-py3-none-any.whl"], "x86_64")
    (True, False, True)
    """
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(5, 29)]
    platforms += [f"{old}_{machine}" for old in ("manylinux2014", "linux")]
    tags = {*cpython_tags((3, 11), platforms=platforms)}
    tags |= {*compatible_tags((3, 11), "cp311", platforms)}
    return any(tags & parse_wheel_filename(f)[3] for f in files if f.endswith(".whl"))
