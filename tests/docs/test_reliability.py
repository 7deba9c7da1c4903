"""The page of promises names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "| promise |" not in line]
NAMED = re.compile(r"`(?P<file>(?:tests/)?[\w/]+\.py)?(?:::)?(?P<test>test_\w+)?`")


def named_tests(row: str) -> list[tuple[str, str]]:
    """Files and tests that a row names; a test without a file is in the file before it."""
    found, file = [], ""
    for match in NAMED.finditer(row.rstrip(" |").rpartition(" | ")[2]):
        file = match["file"] or file
        if file:
            found.append((file, match["test"] or ""))
    return found


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_every_promise_names_a_test_that_exists(row: str) -> None:
    found = named_tests(row)
    assert found, f"no test: {row}"
    for file, test in found:
        path = ROOT / file
        assert path.is_file(), f"there is no {file}"
        assert not test or f"def {test}(" in path.read_text("utf-8"), f"{file} has no {test}"


def test_most_promises_name_a_single_test() -> None:
    pairs = [pair for row in ROWS for pair in named_tests(row)]
    assert len(pairs) > 60 and sum(bool(test) for _, test in pairs) > 40
