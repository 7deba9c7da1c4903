"""What coterie is made of: licences of all that it needs, a bill of materials, and locks.

    python tools/supply_chain.py licences > locks/licences.md
    python tools/supply_chain.py sbom > dist/coterie.cdx.json
    python tools/supply_chain.py lock

Licences and bill come from the metadata of the packages that are installed; nothing is asked of a
network. The bill is CycloneDX 1.5 in JSON, which scanners of known faults read. ``lock`` writes the
lists in ``locks``: what is installed here and needed, with the digests of all its files, for which
the sources that pip is told of are asked. Run it where ``make test`` has installed everything.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packaging.requirements import Requirement

ROOT = "coterie"
CLASSIFIER = "License :: OSI Approved :: "
HOME = Path(__file__).parents[1]
# What the targets of the Makefile install, each beyond those before it. torch is a list of its
# own, since which build there is depends on the machine.
LOCKS = ("torch", "run", "docs", "test", "torture")
EXTRAS = {
    "train",
    "umap",
    "words",
    "multilingual",
    "remote",
    "excel",
    "pandas",
    "plots",
    "serve",
    "mcp",
}  # that tests bring
BUILD = ("hatchling", "editables")  # for coterie itself, which is then built without a download
MACHINE, ARM = "x86_64", "aarch64"  # where the locks are made, and where they fit as well
# PyPI's torch for ARM is the build for CUDA, which needs some 3 GB of libraries; tools/install.py
# takes there what it finds. The fuzzer has no wheel.
NOT_ON_ARM = {"torch", "atheris"}


def normal(name: str) -> str:
    """The one spelling of a package's name.

    Examples
    --------
    >>> normal("Jinja2"), normal("typing_extensions")
    ('jinja2', 'typing-extensions')
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def needs(package: metadata.Distribution, extras: set[str]) -> list[tuple[str, set[str]]]:
    """Names of what a package needs here, with some of its extras, and the extras of that."""
    from packaging.requirements import Requirement

    found = []
    for line in package.requires or []:
        wanted = Requirement(line)
        marks = [{"extra": extra} for extra in {"", *extras}]
        if wanted.marker is None or any(wanted.marker.evaluate(mark) for mark in marks):
            found.append((normal(wanted.name), wanted.extras))
    return found


def collect(extras: set[str]) -> dict[str, metadata.Distribution]:
    """All that is needed, directly or not, by name; what is not installed is left out."""
    found: dict[str, metadata.Distribution] = {}
    pending, seen = [(ROOT, extras)], []
    while pending:
        name, chosen = pending.pop()
        if (name, chosen) in seen:
            continue
        seen.append((name, chosen))
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found[name] = package
        pending += needs(package, chosen)
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
        "Of all packages that coterie and its extras bring, as their own metadata say; the extra",
        "`ray` is left out, since nothing but `predict --engine ray` needs it. Made by",
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
        name: {other for other, _ in needs(package, extras if name == ROOT else set())}
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


def applies(one: Requirement, machine: str, extra: str = "") -> bool:
    """Whether a requirement is one on this kind of machine."""
    where = {"platform_machine": machine, "extra": extra}
    return one.marker is None or one.marker.evaluate(where)


def wanted(extra: str, machine: str = MACHINE) -> list[Requirement]:
    """What pyproject.toml asks for, with one extra and those that it names."""
    from packaging.requirements import Requirement

    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))["project"]
    lines, pending = list(project["dependencies"]), [extra] if extra else []
    while pending:
        lines += project["optional-dependencies"][pending.pop()]
        own = [line for line in lines if Requirement(line).name == ROOT]
        lines = [line for line in lines if line not in own]
        fitting = [one for one in map(Requirement, own) if applies(one, machine)]
        pending += [name for one in fitting for name in one.extras]
    return [one for one in map(Requirement, lines) if applies(one, machine)]


def versions(asked: Iterable[Requirement], machine: str = MACHINE) -> dict[str, str]:
    """Installed version of each requirement and of all that it needs in turn."""
    from packaging.requirements import Requirement

    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    pending = list(asked)
    while pending:
        one = pending.pop()
        name, extras = normal(one.name), frozenset(one.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        package = metadata.distribution(name)
        found[name] = package.version
        for line in package.requires or []:
            need = Requirement(line)
            if any(applies(need, machine, extra) for extra in ("", *extras)):
                pending.append(need)
    return dict(sorted(found.items()))


def lock() -> dict[str, dict[str, str]]:
    """Names and versions of what each target installs beyond those before it."""
    from packaging.requirements import Requirement

    run = versions([*wanted(""), *map(Requirement, BUILD)])
    all_of = {
        "torch": {"torch": run["torch"]},
        "run": run,
        "docs": versions(wanted("docs")),
        "test": versions(wanted("test")),
        "torture": versions([Requirement("atheris")]),
    }
    before: set[str] = set()
    for name in LOCKS:
        all_of[name] = {key: v for key, v in all_of[name].items() if key not in before}
        before |= all_of[name].keys()
    return all_of


def write_locks(folder: Path) -> None:
    """Write the lists that ``pip install --require-hashes`` takes, on both kinds of machines.

    A line holds the digests of all files of a version, so one list does for both. A package that
    ARM does not need, or that has no file for it, is marked.
    """
    from index_files import files_of, fits
    from packaging.requirements import Requirement

    folder.mkdir(exist_ok=True)
    on_arm = versions([*wanted("test", ARM), *map(Requirement, BUILD)], ARM).keys() - NOT_ON_ARM
    for part, pins in lock().items():
        lines = ["# Made by `python tools/supply_chain.py lock`; tools/install.py takes it."]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(files_of, pins, pins.values()))
        for (name, version), files in zip(pins.items(), found, strict=True):
            only = "" if name in on_arm else f' ; platform_machine == "{MACHINE}"'
            if not only and not fits(files, ARM):
                raise SystemExit(f"there is no wheel of {name} {version} for {ARM}")
            hashes = [f"--hash=sha256:{digest}" for digest in sorted(set(files.values()))]
            lines.append(" \\\n    ".join([f"{name}=={version}{only}", *hashes]))
        (folder / f"{part}.txt").write_text("\n".join(lines) + "\n", "utf-8")


def main(arguments: list[str]) -> int:
    """Write what is asked for to standard output."""
    extras = EXTRAS
    if arguments == ["licences"]:
        sys.stdout.write(licences(extras))
    elif arguments == ["sbom"]:
        sys.stdout.write(json.dumps(sbom(extras), indent=2) + "\n")
    elif arguments == ["lock"]:
        write_locks(HOME / "locks")
    else:
        sys.stderr.write("usage: supply_chain.py licences | sbom | lock\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
