"""Assistants ask real runs: a client of the protocol, over standard input and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from coterie import open_run
from coterie.cli import app
from coterie.serve.access import Tokens
from said import says

mcp = pytest.importorskip("mcp")

from coterie.serve.assistants import with_assistants  # noqa: E402

READ = {"list_clusters", "search", "examples", "predict", "compare"}
EDIT = {"rename", "merge"}
WAIT = 120.0  # seconds for an answer: a process starts first


class Assistant:
    """A client of the protocol."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}

    async def call(self, tool: str, **arguments: Any) -> Any:
        found = await self.client.call_tool(tool, arguments)
        assert not found.is_error, found.content
        assert json.loads(found.content[0].text) == found.structured_content
        return found.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        found = await self.client.call_tool(tool, arguments)
        assert found.is_error, found.content
        return str(found.content[0].text)


def ask(server: Any, work: Callable[[Assistant], Awaitable[None]]) -> None:
    async def main() -> None:
        async with mcp.Client(server, read_timeout_seconds=WAIT) as client:
            await work(Assistant(client))

    asyncio.run(asyncio.wait_for(main(), 3 * WAIT))


def process(*arguments: object) -> Any:
    """The command, as an assistant starts it."""
    line = ["-m", "coterie", "serve", *map(str, arguments), "--mcp"]
    return mcp.StdioServerParameters(command=sys.executable, args=line, env=dict(os.environ))


def over_http(client: Any, token: str = "") -> Any:
    from httpx2 import AsyncClient
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    address = f"http://127.0.0.1:{client.port}/mcp"
    return streamable_http_client(address, http_client=AsyncClient(headers=headers, timeout=WAIT))


async def look_at(it: Assistant, folder: Path, topics: tuple[list[str], list[str]]) -> None:
    """All tools that read answer what the run says."""
    run = open_run(folder)
    assert await it.tools() == READ
    found = await it.call("list_clusters")
    clusters = found["clusters"]
    assert found["texts"] == 90
    assert [(c["id"], c["name"], c["texts"]) for c in clusters] == [
        (c.id, c.name, c.size) for c in run.clusters
    ]
    name = run.clusters[1].name
    found = await it.call("search", query="violin concert", limit=5)
    assert "words" in found["by"]
    assert len(found["texts"]) == 5 and all("text" in row for row in found["texts"])
    inside = await it.call("search", query="violin", cluster=name, limit=50)
    assert {row["cluster"] for row in inside["texts"]} <= {1}
    shown = await it.call("examples", cluster=name, limit=3)
    assert shown["id"] == 1 and shown["typical"] == run.clusters[1].examples[:3]
    found = await it.call("predict", texts=topics[0][:5])
    wanted = run.predict(topics[0][:5])["cluster"].to_pylist()
    assert [row["cluster"] for row in found["predictions"]] == wanted
    both = await it.call("compare", a=0, b=name)
    assert both["said"] == run.compare_clusters(0, 1).sentences()
    assert "there is no such cluster" in await it.refused("examples", cluster="No such one")
    assert "query" in await it.refused("search", query="   ")
    assert str(folder) not in await it.refused("list_clusters", level="no level")


def test_an_assistant_starts_the_command(
    finished: Path, topics: tuple[list[str], list[str]]
) -> None:
    async def work(it: Assistant) -> None:
        await look_at(it, finished, topics)
        said = await it.refused("predict", texts=["a", "b", "c", "d", "e", "f"], run="other")
        assert "there is no run" in said
        said = await it.refused("predict", texts=["a"] * 7)
        assert "at most 6 are allowed" in said

    ask(process(finished, "--max-texts", 6), work)


def test_assistants_edit_where_it_is_allowed(folder: Path) -> None:
    async def work(it: Assistant) -> None:
        assert await it.tools() == READ | EDIT
        done = await it.call("rename", cluster=1, name="By an assistant")
        assert done["done"][0].endswith("to By an assistant")
        await it.call("merge", clusters=["By an assistant", 2], name="Both")
        assert "has the name" in await it.refused("rename", cluster=0, name="Both")

    ask(process(folder, "--allow-edits"), work)
    names = {c.id: c.name for c in open_run(folder).clusters}
    assert sorted(names) == [0, 1, 3] and names[1] == "Both"


def test_assistants_have_the_rights_of_their_tokens(
    start: Callable[..., Any], folder: Path, topics: tuple[list[str], list[str]]
) -> None:
    read, edits = "r" * 20, "e" * 20
    tokens = Tokens.find({"COTERIE_READ_TOKEN": read, "COTERIE_EDIT_TOKEN": edits})
    client = start(folder, tokens=tokens, prepare=with_assistants)
    ask(over_http(client, read), lambda it: look_at(it, folder, topics))
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert client.post("/mcp", body).code == "serve.no_token"
    assert client.post("/mcp", body, Host="elsewhere.example.org").status == 400
    other = {"Authorization": f"Bearer {read}", "Origin": "https://elsewhere.org"}
    assert client.post("/mcp", body, **other).code == "serve.bad_origin"
    client = start(
        folder, tokens=tokens, prepare=with_assistants, assistants_edit=True, max_body=2_000
    )

    async def work(it: Assistant) -> None:
        assert "may read, but not edit" in await it.refused("rename", cluster=0, name="Mine")

    async def rename(it: Assistant) -> None:
        await it.call("rename", cluster=0, name="Mine")

    ask(over_http(client, read), work)
    ask(over_http(client, edits), rename)
    assert open_run(folder).clusters[0].name == "Mine"
    sent = {"Authorization": f"Bearer {read}", "Accept": "application/json, text/event-stream"}
    large = client.post("/mcp", {**body, "params": {"x": "x" * 3_000}}, **sent)
    assert large.status == 413


def test_levels_of_a_merge_tree_from_the_command_over_http(grown: Path) -> None:
    tree = open_run(grown).tree

    async def work(it: Assistant) -> None:
        broad = (await it.call("list_clusters", level="broad"))["clusters"]
        assert [c["id"] for c in broad] == tree.shown("broad")
        clusters = (await it.call("list_clusters"))["clusters"]
        assert {c["theme"] for c in clusters} <= {c["name"] for c in broad}
        assert (await it.call("examples", cluster=broad[0]["id"]))["name"] == broad[0]["name"]

    line = [sys.executable, "-m", "coterie", "serve", str(grown), "--mcp-http", "--port", "0"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as server:
        try:
            said = [server.stderr.readline() for _ in range(2)][1]  # reading, then serving
            ask(re.search(r"http://[\d.:]+", said)[0] + "/mcp", work)
        finally:
            server.terminate()
            assert server.wait(WAIT) == 0


def test_without_the_package_it_names_the_extra(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    missing = CliRunner().invoke(app, ["serve", str(finished), "--mcp"])
    assert missing.exit_code == 1 and "coterie[mcp]" in missing.output
    alone = CliRunner().invoke(app, ["serve", str(finished), "--allow-edits"])
    assert alone.exit_code == 2 and says(alone.output, "allow_edits", "--mcp")
