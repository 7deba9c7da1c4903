"""Bill of materials, licences and locks name what is really needed; files come by digest."""

from __future__ import annotations

import hashlib
import json
import re
import runpy
import sys
from pathlib import Path
from unittest.mock import Mock, call

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "supply_chain.py"
if not (ROOT / "locks").exists():
    pytest.skip("needs the checkout", allow_module_level=True)
CHAIN = runpy.run_path(str(SCRIPT))
FILES = runpy.run_path(str(SCRIPT.with_name("index_files.py")))
INSTALL = runpy.run_path(str(SCRIPT.with_name("install.py")))
LOCKS = {name: (ROOT / "locks" / f"{name}.txt").read_text("utf-8") for name in CHAIN["LOCKS"]}
PIN = re.compile(
    r'^([a-z0-9-]+)==(\S+)(?: ; platform_machine == "x86_64")?'
    r"((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$",
    re.MULTILINE,
)


def direct() -> set[str]:
    """Names of what coterie itself asks for on this machine."""
    return {CHAIN["normal"](one.name) for one in CHAIN["wanted"]("")}


def test_the_bill_holds_what_is_needed_and_how_it_hangs_together() -> None:
    bill = json.loads(json.dumps(CHAIN["sbom"](set())))
    names = {part["name"] for part in bill["components"]}
    assert direct() <= names and "transformers" in names  # by the package of the encoder
    assert "pytest" not in names
    known = {part["bom-ref"] for part in [bill["metadata"]["component"], *bill["components"]]}
    for row in bill["dependencies"]:
        assert row["ref"] in known and set(row["dependsOn"]) <= known
    assert all(re.fullmatch(r"[0-9a-f]{64}", p["hashes"][0]["content"]) for p in bill["components"])


def test_every_licence_is_known_and_listed() -> None:
    row = re.compile(r"^\| ([a-z0-9-]+) \| \S+ \| (.+) \|$", re.MULTILINE)
    known = dict(row.findall(CHAIN["licences"](set())))
    listed = dict(row.findall((ROOT / "locks" / "licences.md").read_text("utf-8")))
    assert direct() <= known.keys() <= listed.keys() and "not said" not in known.values()
    assert "xlsxwriter" in listed and "pytest" not in listed  # an extra, and a tool
    if INSTALL["this_machine"]() == INSTALL["MACHINE"]:
        asked = [one for extra in CHAIN["EXTRAS"] for one in CHAIN["wanted"](extra)]
        assert listed.keys() - {"package"} == CHAIN["versions"](asked).keys()


def locked() -> dict[str, str]:
    """Version of each package in the locks."""
    return {name: version for text in LOCKS.values() for name, version, _ in PIN.findall(text)}


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_of_a_lock_has_digests(name: str) -> None:
    comment, _, lines = LOCKS[name].partition("\n")
    assert comment.startswith("# Made by")
    assert PIN.sub("", lines).strip() == "" and PIN.search(lines)


def test_locks_and_constraints_agree() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE))
    pins = {CHAIN["normal"](name): version for name, version in pins.items()}
    found = {name: version.partition("+")[0] for name, version in locked().items()}
    found.pop("triton")  # a torch for GPUs wants one version, so constraints leave it open
    assert found == {name: pins[name] for name in found}
    assert locked()["torch"].endswith("+cpu")
    assert not [name for name in found if name.startswith(("nvidia", "cuda"))]
    assert len(found) == sum(len(PIN.findall(text)) for text in LOCKS.values()) - 1  # each once


def test_locks_hold_all_that_is_asked_for_and_its_needs() -> None:
    if INSTALL["this_machine"]() != INSTALL["MACHINE"]:
        pytest.skip("the locks are for another kind of machine")
    needed = CHAIN["versions"](CHAIN["wanted"]("test"))
    assert set(CHAIN["BUILD"]) <= locked().keys()
    assert needed.keys() - locked().keys() == set()
    run = {name for name, _, _ in PIN.findall(LOCKS["torch"] + LOCKS["run"])}
    assert "pytest" not in run and CHAIN["versions"](CHAIN["wanted"]("")).keys() <= run


def test_extras_of_the_project_are_followed() -> None:
    names = {CHAIN["normal"](one.name) for one in CHAIN["wanted"]("test")}
    assert {"pytest", "umap-learn", "sphinx", "torch", "matplotlib"} <= names
    assert "coterie" not in names and "ray" not in names
    assert "pytest" not in {one.name for one in CHAIN["wanted"]("docs")}


PAGE = """<a href="../../files/Some_Name-1.0-py3-none-any.whl#sha256=aa">x</a>
<a href="/files/some-name-1.0.tar.gz#sha256=bb" data-yanked="">x</a>
<a href="some_name-1.0%2Bcpu-py3-none-any.whl#sha256=cc">x</a>
<a href="some_name-1.1-py3-none-any.whl#sha256=dd">x</a><a href="odd.txt#sha256=ee">x</a>"""
LISTED = {"Some_Name-1.0-py3-none-any.whl": "aa", "some-name-1.0.tar.gz": "bb",
          "some_name-1.0+cpu-py3-none-any.whl": "cc", "some_name-1.1-py3-none-any.whl": "dd",
          "odd.txt": "ee"}  # fmt: skip


def test_pages_of_an_index_are_read_in_both_forms() -> None:
    files = [{"filename": f, "url": "x", "hashes": {"sha256": d}} for f, d in LISTED.items()]
    files.append({"filename": "old.zip", "url": "x", "hashes": {"md5": "ff"}})
    assert FILES["listed"](PAGE.encode(), "text/html") == LISTED
    assert FILES["listed"](json.dumps({"files": files}).encode(), FILES["JSON"]) == LISTED


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index and a folder on this machine, which pip is told of by its environment."""
    page = tmp_path / "simple" / "some-name" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE)
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "some_name-1.0-1-py3-none-any.whl").write_bytes(b"built elsewhere")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", (tmp_path / "none").as_uri())
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    FILES["sources"].cache_clear()
    yield page
    FILES["sources"].cache_clear()


def test_digests_of_all_files_of_a_version_and_of_no_other(index: Path) -> None:
    built = hashlib.sha256(b"built elsewhere").hexdigest()
    assert sorted(FILES["files_of"]("some-name", "1.0").values()) == sorted(["aa", "bb", built])
    assert [*FILES["files_of"]("Some.Name", "1.0+cpu").values()] == ["cc"]
    with pytest.raises(SystemExit, match="no source of pip lists a file of some-name 2"):
        FILES["files_of"]("some-name", "2")


def test_one_file_with_two_digests_is_refused(index: Path) -> None:
    (index.parents[2] / "wheels" / "some_name-1.1-py3-none-any.whl").write_bytes(b"other")
    with pytest.raises(SystemExit, match=r"some_name-1\.1-py3-none-any\.whl has two digests"):
        FILES["files_of"]("some-name", "1.1")


def test_without_a_setting_the_index_is_that_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    FILES["sources"].cache_clear()
    indexes, places, _ = FILES["sources"]()
    FILES["sources"].cache_clear()
    assert len(indexes) == 1 and re.fullmatch(r"https://[\w.]+/simple/?", indexes[0])
    assert places == []


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Stands in for pip, which says nothing where all went well."""
    monkeypatch.setenv("CONSTRAINTS", "constraints.txt")
    monkeypatch.delenv("LOCK", raising=False)
    made = Mock(return_value="")
    monkeypatch.setitem(INSTALL["main"].__globals__, "pip", made)
    return made


def test_other_machines_go_by_version(pip: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INSTALL["main"].__globals__, "MACHINE", "CPython 2.7, Amiga m68k")
    assert INSTALL["main"](["run"]) == 0 and INSTALL["main"](["test"]) == 0
    within = ("--constraint", "constraints.txt")
    assert pip.call_args_list == [
        call(*within, "torch"),
        call(*within, *CHAIN["BUILD"]),
        call(*within, "--no-build-isolation", "--editable", "."),
        call(*within, "--no-build-isolation", "--editable", ".[test]"),
        call(*within, "--no-build-isolation", "--editable", "./benchmarks"),
    ]


@pytest.mark.parametrize("name", ["LOCK", "CONSTRAINTS"])
def test_digests_can_be_declined(name: str, pip: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "no" if name == "LOCK" else "")
    assert INSTALL["main"](["torture"]) == 0
    asked = pip.call_args_list[0].args
    assert asked[-1] == "atheris" and "--require-hashes" not in asked


def test_on_arm_all_but_torch_comes_by_digest(pip: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    monkeypatch.setitem(INSTALL["main"].__globals__, "ARM", INSTALL["this_machine"]())
    assert INSTALL["main"](["run"]) == 0 and INSTALL["main"](["test"]) == 0
    run, own, torch, test, _ = (asked.args for asked in pip.call_args_list)
    assert "--require-hashes" in run and "--require-hashes" in test
    assert own[-1] == "." and torch == ("--constraint", "constraints.txt", "torch")
    names = {CHAIN["normal"](one.name) for one in CHAIN["wanted"]("test", "aarch64")}
    assert "triton" not in names and "torch" in names


def test_where_the_locks_fit_nothing_comes_without_a_digest(
    pip: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(INSTALL["main"].__globals__, "MACHINE", INSTALL["this_machine"]())
    assert INSTALL["main"](["run"]) == 0
    *locked, own = (asked.args for asked in pip.call_args_list)
    assert len(locked) == 2 and all("--require-hashes" in one for one in locked)
    assert own == ("--no-deps", "--no-build-isolation", "--editable", ".")
    wrong = "THESE PACKAGES DO NOT MATCH THE HASHES"
    for answers in (["", wrong], [wrong]):  # to torch.txt and run.txt
        pip.side_effect = answers
        with pytest.raises(SystemExit, match="DO NOT MATCH"):
            INSTALL["main"](["run"])
    pip.reset_mock()
    pip.side_effect = ["ERROR: No matching distribution found for torch==2.13.0+cpu", "", "", ""]
    assert INSTALL["main"](["run"]) == 0  # another build of torch: by version, and said so
    assert pip.call_args_list[1] == call("--constraint", "constraints.txt", "torch")


def test_pip_itself_refuses_a_file_with_another_digest(tmp_path: Path) -> None:
    """The real thing, without a network: a wheel in a folder, and a list with a wrong digest."""
    import subprocess
    import zipfile

    wheel = tmp_path / "tiny_part-1.0-py3-none-any.whl"
    about = "tiny_part-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("tiny_part.py", "")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-part\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        file.writestr(f"{about}/WHEEL", tags)
        file.writestr(f"{about}/RECORD", f"{about}/RECORD,,\n")
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    for digest, code in ((right, 0), (right[::-1], 1)):
        (tmp_path / "lock.txt").write_text(f"tiny-part==1.0 \\\n    --hash=sha256:{digest}\n")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--no-index", "--find-links", str(tmp_path),
             "--target", str(tmp_path / f"out{code}"), *INSTALL["locked"]()[:4],
             "--requirement", str(tmp_path / "lock.txt")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert ("DO NOT MATCH THE HASHES" in done.stderr) == bool(code)
