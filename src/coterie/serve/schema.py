"""What is asked and answered, once: requests are checked by it, and OpenAPI is made of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, InstanceOf, model_validator

from coterie.describe.describe import Cluster
from coterie.texts.corpus import clean_text

QUERY = 2_000  # characters of a search


def _with_words(query: str) -> str:
    if not clean_text(query):
        raise ValueError("it has no words")
    return query


# Texts may hold half characters, which the strings of pydantic may not.
String = InstanceOf[str]
Query = Annotated[str, AfterValidator(_with_words), Field(max_length=QUERY)]
Texts = Annotated[list[String], Field(min_length=1)]
Number = Annotated[int, Field(ge=-1, le=1 << 40)]
Level = Annotated[int, Field(strict=True)] | Annotated[str, Field(max_length=20)]


class Parameters(BaseModel):
    """Of an address: what is not known is refused."""

    model_config = ConfigDict(extra="forbid")


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
    """Which rows."""

    cluster: Number | None = Field(None, description="-1: in none.")
    contains: str = ""
    outlier: Literal["yes", "no"] | None = None
    offset: int = Field(0, ge=0, le=1 << 40)
    limit: int = Field(50, ge=0, le=1_000)


# Bodies ---------------------------------------------------------------------------------------


def _examples(*values: dict[str, Any]) -> ConfigDict:
    """Of a body; its values are not converted."""
    return ConfigDict(strict=True, json_schema_extra={"examples": list(values)})


class Predict(Parameters):
    """New texts."""

    model_config = _examples(
        {"text": "Where is my refund?"},
        {"texts": ["Hello?", "No app opens"]},
        {"text": "Where is my refund?", "level": "broad"},
    )
    text: String | None = None
    texts: Texts = []
    level: Level | None = Field(
        None, description="How many clusters, or the name of a level such as broad."
    )

    @model_validator(mode="after")
    def _one(self) -> Predict:
        if (self.text is None) == (not self.texts):
            raise ValueError("send either text or texts")
        return self


class Change(Parameters):
    """The state that a client has seen."""

    version: String | None = Field(
        None, description="The version that was seen; another one now is answered with 409."
    )


class Cut(Change):
    """Which cut of the merge tree to show."""

    model_config = _examples({"clusters": "broad"}, {"clusters": 2})
    clusters: Level = Field(description="How many clusters, or broad, medium or fine.")


DryRun = Annotated[bool, Field(description="Tell what would be done, and write nothing.")]


class Edit(Change):
    """Edits as those of ``coterie edit``, or the undo of the last change."""

    model_config = _examples(
        {"edits": [{"merge": [0, 1], "name": "Refunds"}]},
        {"edits": [{"split": {"cluster": 2, "into": 2}}]},
        {"edits": [{"rename": {"3": "Late parcels"}}]},
        {"edits": [{"move": {"rows": [{"contains": "gift card"}], "to": 3}}], "dry_run": True},
        {"undo": True},
    )
    edits: list[Any] = []
    undo: bool = False
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _one(self) -> Edit:
        if bool(self.edits) == self.undo or (self.dry_run and self.undo):
            raise ValueError('send either {"edits": [...]} or {"undo": true}')
        return self


class Update(Change):
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
        if bool(self.texts) == bool(self.rows):
            raise ValueError("send either texts or rows")
        return self


# Answers: they document what the service sends, which is not checked again ----------------------


class Problem(BaseModel):
    """Why a request is not served, and what to do."""

    code: str
    message: str


class Error(BaseModel):
    """The answer to a request that is not served."""

    error: Problem


class Version(BaseModel):
    """The state of a run."""

    version: str
    may_edit: bool = Field(description="Whether the token of the request may edit.")
    trouble: str | None = Field(description="Why the newest state cannot be read.")


class Served(BaseModel):
    """A run."""

    name: str
    version: str
    rows: int
    clusters: int
    searchable: bool = Field(description="Whether all texts are encoded.")
    trouble: str | None


class Runs(BaseModel):
    """All runs."""

    runs: list[Served]


class Row(BaseModel):
    """A text, new or of the run, with its result columns; one of the run has its number and id."""

    model_config = ConfigDict(extra="allow")
    cluster: int
    name: str
    confidence: float | None
    runner_up: int | None
    outlier: bool
    score: float | None = Field(None, description="Of a text that was searched for.")


class Predictions(BaseModel):
    """The clusters of texts."""

    version: str
    predictions: list[Row]


class Rows(BaseModel):
    """Rows of a page, or the best first."""

    version: str
    texts: list[Row]
    total: int | None = None
    offset: int | None = None
    by: list[str] | None = Field(None, description="What a search went by.")
    to: Row | None = Field(None, description="The row that others are similar to.")


class Clusters(BaseModel):
    """The clusters, the levels above them, and the cuts that a run can show."""

    version: str
    rows: int
    clusters: list[Cluster]
    levels: list[list[Cluster]]
    tree: dict[str, Any]


class Edited(BaseModel):
    """What was done, or undone."""

    version: str
    done: list[str] = []
    notes: list[str] = []
    clusters: dict[str, str] = Field({}, description="Names of the clusters there are now.")
    written: bool = True
    undone: int | None = Field(None, description="The number of the edit that was undone.")


class Updated(BaseModel):
    """What was added."""

    model_config = ConfigDict(extra="allow")
    version: str
    run: str
    rows: int
    written: bool
    said: list[str] = Field(description="In sentences.")
