"""What is asked and answered, once: requests are checked by it, and OpenAPI is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    InstanceOf,
    StrictBool,
    model_validator,
)

from coterie.corpus.corpus import clean_text
from coterie.description.describe import Cluster
from coterie.serve.errors import ServeError

QUERY = 2_000  # characters of a search


def _with_words(query: str) -> str:
    if not clean_text(query):
        raise ValueError("empty")
    return query


# Texts may hold half characters, which the strings of pydantic may not.
String = InstanceOf[str]
Query = Annotated[str, AfterValidator(_with_words), Field(max_length=QUERY)]
Texts = Annotated[list[String], Field(min_length=1)]
Number = Annotated[int, Field(ge=-1, le=1 << 40)]
Share = Annotated[float, Field(ge=0, le=1)]
Level = Annotated[int, Field(strict=True)] | Annotated[str, Field(max_length=20)]


class Parameters(BaseModel):
    """Of an address or a body: what is not known is refused."""

    model_config = ConfigDict(extra="forbid")

    def has(self, *names: str) -> bool:
        """Whether the request has exactly one of these."""
        return len(self.model_fields_set.intersection(names)) == 1


# Parameters of an address ---------------------------------------------------------------------


class Nearest(Parameters):
    """Which of the nearest texts."""

    cluster: Number | None = Field(None, description="In this one alone.")
    limit: int = Field(20, ge=1, le=100)


class Search(Nearest):
    """What is searched for, and where."""

    q: Query = Field(examples=["money back"])
    by: Literal["both", "meaning", "words"] = "both"


class Filter(Parameters):
    """Which rows, in which order."""

    cluster: Number | None = Field(None, description="-1: in none.")
    contains: str = ""
    outlier: Literal["yes", "no"] | None = None
    min_confidence: Share | None = None
    max_confidence: Share | None = None
    sort: Literal["row", "confidence", "-confidence", "outlier_score", "-outlier_score"] = "row"
    offset: int = Field(0, ge=0, le=1 << 40)
    limit: int = Field(50, ge=0, le=1_000)


# Bodies ---------------------------------------------------------------------------------------


def _examples(*values: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(values)})


class Predict(Parameters):
    """New texts: one, or several."""

    model_config = _examples(
        {"text": "Where is my refund?"},
        {"texts": ["Hello?", "No app opens"]},
        {"text": "Where is my refund?", "level": "broad"},
    )
    text: String = ""
    texts: Texts = []
    level: Level | None = Field(
        None, description="Of a run with a merge tree: how many clusters, or broad, medium, fine."
    )

    @model_validator(mode="after")
    def _one(self) -> Predict:
        if not self.has("text", "texts"):
            raise ServeError(422, "text_or_texts", "send either text or texts.")
        return self


class Seen(Parameters):
    """The state that a client has seen."""

    version: String | None = Field(
        None, description="The version that was seen; another one now is answered with 409."
    )


class Asked(Seen):
    """A change that may be sent again, and what its client knew of the changes of others."""

    id: Annotated[str, Field(pattern=r"^[\w.-]{1,100}$")] | None = Field(
        None,
        description="Of this change: sent again with its id, it is not done twice. What stands "
        "before the last hyphen is the name of the client.",
    )
    seen: str | None = Field(
        None,
        max_length=100,
        description="As /live gave it; an edit of clusters that another client has changed since "
        "is answered with 409.",
    )


class Cut(Asked):
    """Which cut of the merge tree to show."""

    model_config = _examples({"clusters": "broad"}, {"clusters": 2})
    clusters: Level = Field(description="How many clusters, or broad, medium or fine.")


DryRun = Annotated[StrictBool, Field(description="Tell what would be done, and write nothing.")]


class Edit(Asked):
    """Edits as those of ``coterie edit``, or the undo of the last change."""

    model_config = _examples(
        {"edits": [{"merge": [0, 1], "name": "Refunds"}]},
        {"edits": [{"split": {"cluster": 2, "into": 2}}]},
        {"edits": [{"rename": {"3": "Late parcels"}}]},
        {"edits": [{"move": {"rows": [{"contains": "gift card"}], "to": 3}}]},
        {"edits": [{"lock": [3]}, {"unlock": [3]}], "dry_run": True},
        {"edits": [{"done": [0, 3]}, {"reopen": [3]}]},
        {"undo": True},
    )
    edits: list[Any] | dict[Any, Any] = Field([], description="A list of edits.")
    undo: StrictBool | Annotated[str, Field(max_length=100)] = Field(
        False, description="true, or the id of the change that is to be undone, if it is the last."
    )
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _one(self) -> Edit:
        if self.has("edits") == bool(self.undo) or (self.dry_run and self.undo):
            raise ServeError(
                422,
                "edits_or_undo",
                'send either {"edits": [...]}, with "dry_run" if you like, or {"undo": true}.',
            )
        return self


class Update(Seen):
    """New rows."""

    model_config = _examples(
        {"texts": ["My parcel is late again"], "dry_run": True},
        {"rows": [{"id": "N-1", "text": "Parcel late"}], "dry_run": True},
    )
    texts: Texts = []
    rows: list[dict[Any, Any]] = Field([], min_length=1, description="A value for each column.")
    text_column: String | None = None
    id_column: String | None = Field(None, description="Its name, or none.")
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _one(self) -> Update:
        if not self.has("rows", "texts"):
            raise ServeError(422, "text_or_texts", "send either texts or rows.")
        return self


# Answers: they document what the service sends, which is not checked again ----------------------


class Problem(BaseModel):
    """Why a request is not served, and what to do."""

    code: str = Field(examples=["serve.no_texts"])
    message: str = Field(examples=["texts should be a list of at least one text."])


class Error(BaseModel):
    """The answer to a request that is not served."""

    error: Problem


class Status(BaseModel):
    """Health."""

    status: str


class Versioned(BaseModel):
    """What belongs to one state of a run."""

    version: str = Field(description="Also the header ETag.")
    trouble: str | None = Field(None, description="Why the newest state cannot be read.")


class Version(Versioned):
    """The state of a run."""

    may_edit: bool = Field(description="Whether the token of the request may edit.")
    seen: str = Field(description="What a client has seen: to be sent with its edits.")


class LoggedChange(BaseModel):
    """A change of the run, or that one was undone."""

    id: str
    by: str = Field(description="Who it was, as a sentence begins with it.", examples=["a command"])
    said: str
    can_undo: bool


class Panel(BaseModel):
    """A cluster in a list."""

    id: int
    name: str
    size: int


class Live(BaseModel):
    """What the page shows of a run that is edited."""

    version: str
    seen: str
    made: str = Field(description="When the run was made; another one has other clusters.")
    clusters: list[Panel]
    locked: list[int]
    done: list[int]
    changes: list[LoggedChange] = Field(description="The last ones; the newest is at the end.")
    logged: int = Field(description="How many changes there were at all.")


class Served(Versioned):
    """A run."""

    name: str
    rows: int
    clusters: int
    searchable: bool = Field(description="Whether all texts are encoded.")


class Runs(BaseModel):
    """All runs."""

    runs: list[Served]


class Row(BaseModel):
    """A text, new or of a run, and its cluster; a run with levels has more."""

    model_config = ConfigDict(extra="allow")
    row: int | None = Field(None, description="Counted from one, of a text of the run.")
    id: str | None = None
    text: str | None = Field(None, description="Of a text of the run.")
    cluster: int
    name: str
    confidence: float | None
    runner_up: int | None
    margin: float | None
    outlier: bool
    outlier_score: float | None
    nearest_cluster: int | None = None
    runner_up_name: str | None
    score: float | None = Field(None, description="Of a text that was searched for.")
    copies: int | None = Field(None, description="How often a text that was found occurs.")


class Predictions(Versioned):
    """The clusters of texts."""

    predictions: list[Row]


class Rows(Versioned):
    """Rows of a page, or the best first."""

    texts: list[Row]
    total: int | None = None
    offset: int | None = None
    by: list[str] | None = Field(None, description="What a search went by.")
    to: Row | None = Field(None, description="The row that others are similar to.")


@dataclass(frozen=True)
class Shown(Cluster):
    """A cluster, and what was decided about it."""

    locked: bool = False
    done: bool = False
    named_by_hand: bool = False


class Cuts(BaseModel):
    """The cuts that a run can show."""

    at: int = Field(description="Clusters of the one that is shown.")
    finest: int = Field(description="Clusters of the finest; the coarsest has 2.")
    levels: dict[str, int] = Field(description="Clusters of those that have names.")


class Clusters(Versioned):
    """The clusters, and the levels above them."""

    rows: int
    clusters: list[Shown]
    levels: list[list[Cluster]]
    tree: Cuts | None = Field(None, description="Of a run that found its number of clusters.")


class Edited(Versioned):
    """What was done, or undone."""

    done: list[str] = []
    notes: list[str] = []
    clusters: dict[str, str] = Field({}, description="Names of clusters that were changed.")
    written: bool = True
    undone: int | None = Field(None, description="The number of the edit that was undone.")


class Updated(Versioned):
    """What was added."""

    run: str
    update: int | None
    rows: int
    new: list[dict[str, Any]]
    drift: dict[str, Any] | None
    written: bool
    notes: list[str]
    said: list[str]
