"""What coterie is made of: licences of all that it needs, and a bill of materials.

    python tools/supply_chain.py licences > docs/licences.md
    python tools/supply_chain.py sbom > dist/coterie.cdx.json

Everything comes from the metadata of the packages that are installed; nothing is asked of a
network. The bill is CycloneDX 1.5 in JSON, which scanners of known faults read.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from importlib import metadata
from typing import Any

ROOT = "coterie"
CLASSIFIER = "License :: OSI Approved :: "


def normal(name: str) -> str:
    """The one spelling of a package's name.

    Examples
    --------
    >>> normal("Jinja2"), normal("typing_extensions")
    ('jinja2', 'typing-extensions')
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def needs(package: metadata.Distribution, extras: set[str]) -> list[str]:
    """Names of what a package needs here, with some of its extras."""
    from packaging.requirements import Requirement

    found = []
    for line in package.requires or []:
        wanted = Requirement(line)
        marks = [{"extra": extra} for extra in {"", *extras}]
        if wanted.marker is None or any(wanted.marker.evaluate(mark) for mark in marks):
            found.append(normal(wanted.name))
    return found


def collect(extras: set[str]) -> dict[str, metadata.Distribution]:
    """All that is needed, directly or not, by name; what is not installed is left out."""
    found: dict[str, metadata.Distribution] = {}
    pending = [(ROOT, extras)]
    while pending:
        name, chosen = pending.pop()
        if name in found:
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found[name] = package
        pending += [(other, set()) for other in needs(package, chosen)]
    return dict(sorted(found.items()))


def licence(package: metadata.Distribution) -> str:
    """What a package says about its licence, in a few words."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    kinds = [c.rpartition(" :: ")[2] for c in about.get_all("Classifier") or [] if CLASSIFIER in c]
    if kinds:
        return ", ".join(kinds)
    said = str(about.get("License") or "").strip().splitlines()
    return said[0][:60] if said else "not said"


def licences(extras: set[str]) -> str:
    """A page with a table: package, version, licence."""
    lines = [
        "# Licences",
        "",
        "Of all packages that coterie and its extras bring, as their own metadata say. Made by",
        "`python tools/supply_chain.py licences`.",
        "",
        "| package | version | licence |",
        "|---|---|---|",
    ]
    rows = [(n, p.version, licence(p)) for n, p in collect(extras).items() if n != ROOT]
    return "\n".join([*lines, *(f"| {n} | {v} | {said} |" for n, v, said in rows)]) + "\n"


def digest(package: metadata.Distribution) -> str:
    """Of the list of a package's files with their own digests, as its installer wrote it."""
    record = package.read_text("RECORD") or ""
    return hashlib.sha256(record.encode()).hexdigest()


def sbom(extras: set[str]) -> dict[str, Any]:
    """A bill of materials in the form of CycloneDX 1.5."""
    packages = collect(extras)

    def component(name: str, package: metadata.Distribution) -> dict[str, Any]:
        address = f"pkg:pypi/{name}@{package.version}"
        return {
            "type": "application" if name == ROOT else "library",
            "bom-ref": address,
            "name": name,
            "version": package.version,
            "purl": address,
            "licenses": [{"license": {"name": licence(package)}}],
            "hashes": [{"alg": "SHA-256", "content": digest(package)}],
        }

    made = {name: component(name, package) for name, package in packages.items()}
    below = {
        name: needs(package, extras if name == ROOT else set())
        for name, package in packages.items()
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": made[ROOT]},
        "components": [made[name] for name in made if name != ROOT],
        "dependencies": [
            {
                "ref": made[n]["bom-ref"],
                "dependsOn": sorted({made[o]["bom-ref"] for o in others if o in made}),
            }
            for n, others in below.items()
        ],
    }


def main(arguments: list[str]) -> int:
    """Write what is asked for to standard output."""
    extras = {"faiss", "umap", "words", "excel"}
    if arguments == ["licences"]:
        sys.stdout.write(licences(extras))
    elif arguments == ["sbom"]:
        sys.stdout.write(json.dumps(sbom(extras), indent=2) + "\n")
    else:
        sys.stderr.write("usage: supply_chain.py licences | sbom\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
