"""The addresses of the service."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse, PlainTextResponse
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from coterie.runs import Run
from coterie.serve import queries, schema
from coterie.serve.access import Given, check_origin, may_edit, may_read
from coterie.serve.errors import reply
from coterie.serve.state import LiveRun

if TYPE_CHECKING:
    from coterie.serve.app import Service


async def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


async def _live(request: Request) -> LiveRun:
    found: LiveRun = request.app.state.service.find(request.path_params.get("run"))
    return found


async def _named(run: Annotated[str, PathParameter(description="A name of /runs.")]) -> None:
    """Documents the name of a run in an address."""


Serving = Annotated["Service", Depends(_service)]
Live = Annotated[LiveRun, Depends(_live)]
open_to_all = APIRouter()
of_service = APIRouter(dependencies=[Depends(may_read)])
of_run = APIRouter(dependencies=[Depends(may_read), Depends(check_origin)])
EDITS = [Depends(may_edit)]


def add_routes(api: FastAPI, *, alone: bool) -> None:
    """Add all addresses; those of a run without its name, too, where it is alone."""
    api.include_router(open_to_all)
    api.include_router(of_service)
    api.include_router(of_run, prefix="/runs/{run}", dependencies=[Depends(_named)])
    if alone:
        api.include_router(of_run)
    else:
        api.add_api_route("/", index, response_class=HTMLResponse, dependencies=[Depends(may_read)])


@open_to_all.get("/healthz")
@open_to_all.get("/readyz")
async def health() -> dict[str, str]:
    """Whether requests are served."""
    return {"status": "ok"}


@of_service.get("/metrics", response_class=PlainTextResponse)
async def metrics(service: Serving) -> Response:
    """Counts and times for Prometheus."""
    kind = {"content-type": CONTENT_TYPE_PLAIN_0_0_4}
    return Response(generate_latest(service.metrics.registry), headers=kind)


@of_service.get("/runs", response_model=schema.Runs)
async def list_runs(service: Serving) -> Response:
    """The runs that are served."""
    return reply({"runs": [live.about() for live in service.runs.values()]})


async def index(service: Serving) -> Response:
    """Links to the pages of several runs."""
    items = "".join(
        f'<li><a href="/runs/{quote(name, safe="")}/">{escape(name)}</a></li>'
        for name in service.runs
    )
    return HTMLResponse(
        f'<!doctype html><meta charset="utf-8"><title>coterie</title><ul>{items}</ul>'
    )


# Reading a run ----------------------------------------------------------------------------------


@of_run.get("/", response_class=HTMLResponse)
async def page(live: Live) -> Response:
    """The page of the run."""
    return HTMLResponse(live.snapshot.page)


@of_run.get("/version", response_model=schema.Version)
async def version(live: Live, service: Serving, given: Given) -> Response:
    """The version of the run, and whether the token may edit it."""
    allowed = service.settings.tokens.may_edit(given)
    shown = {"version": live.snapshot.version, "may_edit": allowed, "trouble": live.trouble}
    return reply(shown)


@of_run.get("/clusters", response_model=schema.Clusters)
async def clusters(live: Live, _: Annotated[schema.Parameters, Query()]) -> Response:
    """The clusters with names, words and examples, and the levels above them."""
    return reply(live.snapshot.list_clusters())


@of_run.get("/texts", response_model=schema.Rows)
async def texts(live: Live, wanted: Annotated[schema.Filter, Query()]) -> Response:
    """Rows of the run: of a cluster, with a word, outliers; page by page."""
    return reply(queries.list_texts(live.snapshot, wanted))


@of_run.get("/search", response_model=schema.Rows)
async def search(
    live: Live, service: Serving, request: Request, wanted: Annotated[schema.Search, Query()]
) -> Response:
    """Texts by meaning, by words, or by both."""
    gone = request.is_disconnected
    return reply(await queries.search(live.snapshot, wanted, service.batcher, gone))


@of_run.get("/similar/{id:path}", response_model=schema.Rows)
async def similar(live: Live, id: str, wanted: Annotated[schema.Nearest, Query()]) -> Response:
    """The texts most similar to a row, by its id if the run has ids, else by its number."""
    return reply(queries.similar(live.snapshot, id, wanted))


# Predicting and changing ------------------------------------------------------------------------


@of_run.post("/predict", response_model=schema.Predictions)
async def predict(
    live: Live, service: Serving, request: Request, wanted: schema.Predict
) -> Response:
    """Cluster, name, confidence, runner-up and outlier score of new texts."""
    return reply(await service.predict(live, wanted, request.is_disconnected))


@of_run.post("/edits", response_model=schema.Edited, dependencies=EDITS)
async def edits(live: Live, service: Serving, wanted: schema.Edit) -> Response:
    """Merge, split, rename, move or delete clusters, or undo the last change."""
    done = await service.edit(live, wanted)
    return reply({"version": live.snapshot.version, **done})


@of_run.post("/cut", response_model=schema.Edited, dependencies=EDITS)
async def cut(live: Live, service: Serving, wanted: schema.Cut) -> Response:
    """Show more or fewer clusters of the merge tree; /edits can undo it."""
    work = partial(Run(live.folder).cut, wanted.clusters, version=wanted.version)
    await service.change(live, work)
    now = live.snapshot
    said = f"cut into {len(now.run.clusters):,} clusters"
    return reply({"version": now.version, "done": [said], "clusters": now.names})


@of_run.post("/update", response_model=schema.Updated, dependencies=EDITS)
async def update(live: Live, service: Serving, wanted: schema.Update) -> Response:
    """Add new rows; old rows keep their clusters."""
    options = wanted.model_dump(exclude={"texts", "rows"}, exclude_none=True)
    data = wanted.rows or wanted.texts
    service.check_number(len(data))
    found = await service.change(live, partial(Run(live.folder).update, data, **options))
    said = [live.without_path(sentence) for sentence in found.sentences()]
    shown = {"run": live.name, "version": live.snapshot.version, "said": said}
    return reply({**found.to_dict(), **shown})
