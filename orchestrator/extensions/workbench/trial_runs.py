"""Run trials of recorded turns, within the limits that were set for them."""

from orchestrator.control.trials import (
    TrialContinuation,
    TrialEstimate,
    TrialNumber,
    TrialReport,
    TrialReports,
    TrialRequest,
)
from orchestrator.extension import DaemonView


class TrialRunner:
    """Runs the trials of one daemon; a method raises an `OrchestratorError` that says what to do.

    A trial runs in a task of the daemon, so `start_trial` returns at once.
    """

    def __init__(self, daemon: DaemonView) -> None:
        self._daemon = daemon

    async def estimate_trial(self, request: TrialRequest) -> TrialEstimate:
        """Return what a trial may cost, and why it cannot start, if so."""
        raise NotImplementedError

    async def start_trial(self, request: TrialRequest, *, by: str) -> TrialReport:
        """Start a trial and return it."""
        raise NotImplementedError

    async def load_report(self, number: TrialNumber) -> TrialReport:
        """Return a trial with all turns that have been tried so far."""
        raise NotImplementedError

    async def list_reports(self) -> TrialReports:
        """Return all trials, newest first, without their turns."""
        raise NotImplementedError

    async def stop_trial(self, number: TrialNumber) -> TrialReport:
        """Stop a trial after the turns that are being tried now."""
        raise NotImplementedError

    async def continue_trial(self, continuation: TrialContinuation, *, by: str) -> TrialReport:
        """Go on with a stopped trial."""
        raise NotImplementedError

    async def wait_for_trial(self, number: TrialNumber) -> TrialReport:
        """Wait until a trial is done or stopped, and return it."""
        raise NotImplementedError
