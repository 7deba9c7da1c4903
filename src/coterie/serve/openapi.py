"""What can be asked of the service, in the words of OpenAPI 3.1, with examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie import __version__

Json = dict[str, Any]

VERSION = "5f0c9e1d2a7b4c6e8f1a3b5d7c9e0f2a"
TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
FLAG: Json = {"type": "boolean", "default": False}
PREDICTION: Json = {
    "cluster": 3,
    "name": "Refund, Return, Money",
    "confidence": 0.8121,
    "runner_up": 7,
    "margin": 0.7304,
    "outlier": False,
    "outlier_score": 0.4711,
    "runner_up_name": "Gift Card, Code, Voucher",
}
ROW: Json = {"row": 12, "text": "Where is my refund?", **PREDICTION}
CLUSTER: Json = {
    "id": 3,
    "name": "Refund, Return, Money",
    "size": 88,
    "share": 0.0889,
    "words": [["refund", 4.1], ["return", 2.7]],
    "examples": ["Where is my refund?"],
    "locked": False,
    "done": False,
    "named_by_hand": False,
}
EDITS: Json = {
    "merge": {"edits": [{"merge": [3, 7], "name": "Refunds"}], "version": VERSION},
    "split": {"edits": [{"split": {"cluster": 4, "into": 2}}]},
    "rename": {"edits": [{"rename": {"2": "Late parcels"}}]},
    "move": {"edits": [{"move": {"rows": [12, {"contains": "gift card"}], "to": 5}}]},
    "lock": {"edits": [{"lock": [2]}, {"unlock": [5]}], "dry_run": True},
    "done": {"edits": [{"done": [2, 3]}, {"reopen": [3]}]},
    "undo": {"undo": True},
}


def describe_service(runs: Sequence[str], max_texts: int, tokens: bool) -> Json:
    """The document; with one run, paths are also there without its name.

    Parameters
    ----------
    runs : sequence of str
    max_texts : int
        Most texts of a request.
    tokens : bool
        Whether a token is needed.
    """
    of_run = _paths(max_texts)
    paths: Json = {}
    if len(runs) == 1:
        paths |= of_run
    run = {
        "name": "run",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "enum": list(runs)},
        "example": runs[0],
    }
    paths |= {
        f"/runs/{{run}}{path}": {**item, "parameters": [run]} for path, item in of_run.items()
    }
    paths |= _about_itself()
    out: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "coterie",
            "version": __version__,
            "description": "Predict, search, edit and update finished clusterings.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": _error()}},
    }
    if tokens:
        out["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "basic": {"type": "http", "scheme": "basic"},
        }
        out["security"] = [{"bearer": []}, {"basic": []}]
    return out


def _paths(max_texts: int) -> Json:
    limit = _query("limit", {**WHOLE, "minimum": 1, "maximum": 100, "default": 20}, 5)
    cluster = _query("cluster", {**WHOLE, "minimum": -1}, 3)
    ranked = {**ROW, "score": 0.8312, "copies": 1}
    return {
        "/predict": _post(
            "Put new texts into the clusters",
            {
                "text": TEXT,
                "texts": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": max_texts},
                "mask": FLAG,
            },
            {
                "one": {"text": "Where is my refund?"},
                "many": {"texts": ["Hello?", "No app opens"]},
                "masked": {"text": "Refund to anna@example.org?", "mask": True},
            },
            {"version": VERSION, "predictions": [PREDICTION]},
        ),
        "/clusters": _get(
            "The clusters with names, words and examples",
            [],
            {"version": VERSION, "rows": 997, "clusters": [CLUSTER], "levels": []},
        ),
        "/texts": _get(
            "Rows: of a cluster, with a word, outliers, by confidence",
            [
                cluster,
                _query("contains", TEXT, "refund"),
                _query("outlier", {"type": "string", "enum": ["yes", "no"]}, "no"),
                _query("min_confidence", {**NUMBER, "minimum": 0, "maximum": 1}, 0.1),
                _query("max_confidence", {**NUMBER, "minimum": 0, "maximum": 1}, 0.9),
                _query("sort", {"type": "string", "default": "row"}, "-confidence"),
                _query("offset", {**WHOLE, "minimum": 0, "default": 0}, 0),
                _query("limit", {**WHOLE, "minimum": 0, "maximum": 1000, "default": 50}, 10),
            ],
            {"version": VERSION, "total": 88, "offset": 0, "texts": [ROW]},
        ),
        "/search": _get(
            "Texts by meaning, by words, or by both",
            [
                {**_query("q", TEXT, "money back"), "required": True},
                _query("by", {"type": "string", "enum": ["both", "meaning", "words"]}, "words"),
                cluster,
                limit,
            ],
            {"version": VERSION, "by": ["meaning", "words"], "texts": [ranked]},
        ),
        "/similar/{id}": _get(
            "The texts most similar to a row: named by its id if the run has ids, else by number",
            [
                {"name": "id", "in": "path", "required": True, "schema": TEXT, "example": "12"},
                cluster,
                limit,
            ],
            {"version": VERSION, "to": ROW, "texts": [ranked]},
        ),
        "/version": _get(
            "The version of the run, and whether the token may edit it",
            [],
            {"version": VERSION, "may_edit": True, "trouble": None},
        ),
        "/edits": _post(
            "Merge, split, rename, move, lock or mark as done clusters, or undo the last change",
            {
                "edits": {"type": "array", "items": {"type": "object"}},
                "undo": FLAG,
                "dry_run": FLAG,
                "version": TEXT,
            },
            EDITS,
            {
                "version": VERSION,
                "done": ["merged 7 (Vouchers) into 3 (Refunds): 146 rows"],
                "notes": ["cluster 3 is not marked as done any more"],
                "clusters": {"3": "Refunds"},
                "written": True,
            },
            edits=True,
        ),
        "/update": _post(
            "Add new rows; old rows keep their clusters",
            {
                "texts": {"type": "array", "items": TEXT},
                "rows": {"type": "array", "items": {"type": "object"}, "maxItems": max_texts},
                "text_column": TEXT,
                "id_column": {"type": "string", "enum": ["none"]},
                "new_only": FLAG,
                "again": FLAG,
                "refit": FLAG,
                "n_clusters": {"type": ["integer", "string"]},
                "dry_run": FLAG,
                "version": TEXT,
            },
            {
                "texts": {"texts": ["My parcel is late again"], "dry_run": True},
                "rows": {"rows": [{"id": "N-1", "text": "Parcel late"}], "dry_run": True},
            },
            {
                "run": "tickets.clusters",
                "version": VERSION,
                "update": 1,
                "rows": 1,
                "moved": 0,
                "new": [],
                "drift": None,
                "written": True,
                "notes": [],
                "said": ["1 rows added, all in the clusters there were. Old rows moved: 0."],
            },
            edits=True,
        ),
    }


def _about_itself() -> Json:
    return {
        "/runs": _get("The runs that are served", [], {"runs": [{"name": "tickets.clusters"}]}),
        "/healthz": _get("Whether the process answers", [], {"status": "ok"}),
        "/readyz": _get("Whether requests are served", [], {"status": "ready"}),
        "/metrics": {
            "get": {
                "summary": "Counts and times for Prometheus",
                "responses": {"200": {"description": "OK", "content": {"text/plain": {}}}},
            }
        },
        "/openapi.json": _get("This document", [], {"openapi": "3.1.0"}),
    }


def _query(name: str, schema: Json, example: Any) -> Json:
    return {"name": name, "in": "query", "schema": schema, "example": example}


def _get(summary: str, parameters: list[Json], example: Json) -> Json:
    return {"get": {"summary": summary, "parameters": parameters, "responses": _answers(example)}}


def _post(
    summary: str, properties: Json, examples: Json, example: Json, *, edits: bool = False
) -> Json:
    content = {
        "schema": {"type": "object", "properties": properties, "additionalProperties": False},
        "examples": {name: {"value": value} for name, value in examples.items()},
    }
    operation: Json = {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": _answers(example),
    }
    if edits:
        operation["parameters"] = [
            {
                "name": "If-Match",
                "in": "header",
                "schema": TEXT,
                "description": "The version that was seen; another one now is answered with 409.",
            }
        ]
    return {"post": operation}


def _answers(example: Json) -> Json:
    wrong = {
        "description": "Not served; the message says why.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    good = {"description": "OK", "content": {"application/json": {"example": example}}}
    return {"200": good, "default": wrong}


def _error() -> Json:
    return {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": TEXT, "message": TEXT},
            }
        },
        "example": {
            "error": {
                "code": "serve.no_texts",
                "message": "texts should be a list of at least one text.",
            }
        },
    }
