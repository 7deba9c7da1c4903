"""Progress: says where long work stands, on a terminal and elsewhere."""

import pytest

from coterie._util.progress import Lines, Progress, make_progress


def test_lines_tell_stage_terms_and_time_left(capsys: pytest.CaptureFixture) -> None:
    progress = Lines(every=0)
    progress.start("joint", 10)
    progress.advance(4, {"contrast": 1.25})
    progress.advance(5)
    progress.stop()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == "joint 4/10, contrast 1.25, 0 s left"
    assert err.splitlines()[-1].startswith("joint 5/10, contrast 1.25, took")


def test_lines_are_rare(capsys: pytest.CaptureFixture) -> None:
    progress = Lines(every=1000)
    progress.start("joint", 10)
    for step in range(10):
        progress.advance(step)
    assert capsys.readouterr().err == ""


def test_choice_by_verbosity_and_terminal() -> None:
    assert type(make_progress(0)) is Progress
    assert isinstance(make_progress(1), Lines)  # stderr is captured here, so no terminal
