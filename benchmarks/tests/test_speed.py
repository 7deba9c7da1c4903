"""Speed lines: what is counted, and what a table of them shows."""

from coterie_bench.score import step_ms


def reading(stage: str, step: int, seconds: float) -> dict:
    return {"stage": stage, "step": step, "seconds": seconds, "terms": {"loss": 1.0}}


def test_the_first_readings_and_short_stages_do_not_count() -> None:
    slow = [reading("a", 10 * i, 5.0 * i) for i in (1, 2, 3)]  # while things warm up
    even = [reading("a", 10 * i, 15 + 0.02 * 10 * (i - 3)) for i in range(4, 9)]
    other = [{"stage": "a", "step": 80, "changed": 0.1, "seconds": 99.0}]
    short = [reading("b", 10 * i, i) for i in (1, 2, 3, 4)]
    assert step_ms(slow + even + other + short) == {"a": 20.0}
    assert step_ms([]) == {}
