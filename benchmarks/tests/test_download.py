"""Downloading: from a real server on this machine, with every kind of trouble."""

import functools
import http.server
import threading
from pathlib import Path

import pytest

from coterie._util.progress import Progress
from coterie.errors import DataError, MissingError
from coterie_bench.datasets import CARDS, get_dataset
from coterie_bench.datasets.files import fetch


class Handler(http.server.SimpleHTTPRequestHandler):
    """A file server that knows ranges and can break off."""

    break_after: int | None = None
    ranges: list[str]

    def log_message(self, *args: object) -> None: ...

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.exists():
            self.send_error(404)
            return
        data, wanted = path.read_bytes(), self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        type(self).ranges.append(wanted or "")
        if start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        stop = type(self).break_after
        self.wfile.write(data[start:] if stop is None else data[start : start + stop])


@pytest.fixture
def server(tmp_path: Path):
    class Fresh(Handler):
        break_after = None
        ranges: list[str] = []  # noqa: RUF012

    folder = tmp_path / "www"
    folder.mkdir()
    handler = functools.partial(Fresh, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{httpd.server_port}", Fresh
        httpd.shutdown()


def tweet_source(benchmarks: Path) -> bytes:
    import csv

    path = next(p for p in (benchmarks / "tweet.csv", benchmarks / "data/tweet.csv") if p.exists())
    with path.open(encoding="utf-8", newline="") as file:
        return "".join(f"{r['label']}\t{r['text']}\n" for r in csv.DictReader(file)).encode()


def test_download_convert_check(server, tmp_path: Path, benchmarks: Path) -> None:
    folder, url, handler = server
    (folder / "tweet.txt").write_bytes(tweet_source(benchmarks))
    path = get_dataset("tweet", tmp_path / "data", urls=[f"{url}/tweet.txt"])
    assert path == tmp_path / "data" / CARDS["tweet"].file
    assert [p.name for p in path.parent.iterdir()] == ["tweet.csv"]  # no litter
    get_dataset("tweet", tmp_path / "data", urls=[f"{url}/tweet.txt"])
    assert len(handler.ranges) == 1  # what is there is not fetched again


def test_an_interrupted_download_is_continued(server, tmp_path: Path) -> None:
    folder, url, handler = server
    content = bytes(range(256)) * 2000
    (folder / "big").write_bytes(content)
    handler.break_after = 200_000
    part = tmp_path / "big.part"
    try:
        fetch(f"{url}/big", part, Progress())
    except (MissingError, OSError):
        pass
    assert 0 < part.stat().st_size < len(content)
    handler.break_after = None
    fetch(f"{url}/big", part, Progress())
    assert part.read_bytes() == content
    assert handler.ranges[-1] == "bytes=200000-"
    fetch(f"{url}/big", part, Progress())  # everything is there: the server answers 416
    assert part.read_bytes() == content


def test_other_data_than_known_is_refused_and_not_kept(server, tmp_path: Path) -> None:
    folder, url, _ = server
    (folder / "tweet.txt").write_text("1\tsomething else\n")
    with pytest.raises(DataError, match="nothing was kept"):
        get_dataset("tweet", tmp_path / "data", urls=[f"{url}/tweet.txt"])
    assert list((tmp_path / "data").iterdir()) == []
