"""Counts and times of the service, for Prometheus."""

from __future__ import annotations

from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a time for each series


class Metrics:
    """All that the service counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        seconds = partial(Histogram, buckets=SECONDS, registry=self.registry)
        self.requests = counter(
            "coterie_requests", "Requests answered.", ("route", "method", "status")
        )
        self.seconds = seconds(
            "coterie_request_seconds", "Seconds from request to answer.", ("route",)
        )
        self.texts = counter("coterie_predicted_texts", "Texts predicted.", ("run",))
        self.batches = Histogram(
            "coterie_batch_texts",
            "Texts encoded in one batch.",
            buckets=TEXTS,
            registry=self.registry,
        )
        self.batch_seconds = seconds("coterie_batch_seconds", "Seconds of a batch.")
        self.edits = counter("coterie_edits", "Edits of runs.", ("run", "result"))
        self.loads = counter("coterie_run_loads", "Times a run was read.", ("run", "result"))
        self.rows = gauge("coterie_run_rows", "Rows of a run.", ("run",))
        self.queued = gauge("coterie_queued_texts", "Texts that wait for a batch.")
