"""The area cost_monitor."""

from datetime import UTC, datetime
from typing import Any

from vector_runner.cases import Area, ms

from orchestrator.agentsfile import CostControls
from orchestrator.spending import budgets
from orchestrator.spending.budgets import BudgetVerdict

MINUTE = 60_000


class _Meter:
    """An agent's usage during one vector: buckets since the last reset, and a pause."""

    def __init__(self, given: dict[str, Any]) -> None:
        # The vectors use caps below the range that agents.json accepts.
        self.controls = CostControls.model_construct(**given["config"])
        self.now = ms(given["start"])
        self.buckets: dict[int, int] = {}
        self.pause: tuple[str, int] | None = None

    def apply(self, op: dict[str, Any]) -> None:
        if "resume" in op:
            self.pause = None
            self.buckets = {} if op["resume"] else self.buckets
        for _ in range(op.get("times", 1)):
            if "record" in op and self.controls.enabled:
                minute = self.now // MINUTE
                self.buckets[minute] = self.buckets.get(minute, 0) + sum(op["record"])
                reason = self.verdict().reason
                if self.pause is None and reason is not None:
                    self.pause = (reason, self.now)
            self.now += (op.get("thenAdvanceMin", 0) + op.get("advanceMin", 0)) * MINUTE

    def verdict(self) -> BudgetVerdict:
        return budgets.assess_usage(self.buckets, self.now, self.controls)

    def status(self) -> dict[str, Any]:
        verdict, controls = self.verdict(), self.controls
        return {
            "enabled": controls.enabled,
            "paused": self.pause is not None,
            "pauseReason": self.pause and self.pause[0],
            "pausedAt": self.pause and _text(self.pause[1]),
            "currentHourTokens": verdict.hour_tokens,
            "shortWindowTokensPerMinute": budgets.round_half_up(verdict.short_rate),
            "baselineTokensPerMinute": budgets.round_half_up(verdict.baseline_rate),
            "hardCapTokensPerHour": controls.hard_cap_tokens_per_hour,
            "spikeMultiplier": controls.spike_multiplier,
            "shortWindowMinutes": controls.short_window_minutes,
            "activeBuckets": verdict.active,
        }


def _run(given: dict[str, Any]) -> dict[str, Any]:
    """Return the state after every operation, and the final status."""
    meter = _Meter(given)
    after = []
    for op in given["ops"]:
        meter.apply(op)
        after.append({"paused": meter.pause is not None, "reason": meter.pause and meter.pause[0]})
    return {"after_each_op": after, "final_status": meter.status()}


def _text(milliseconds: int) -> str:
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z"


AREAS = {"cost_monitor": Area(_run)}
