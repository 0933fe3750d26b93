"""What a running daemon does for a move: its steps in the journal, between its other work."""

from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.errors import OrchestratorError
from orchestrator.extension import Part
from orchestrator.extensions.relocation.journal_steps import StepReport, StepRequest, run_step
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

STEP = "relocation/step"  # StepRequest → StepReport
LOOK = "look"  # the only step that writes nothing
SHARED = (
    "{home} shares its journal with other nodes, whose new rows would take the same ids; for the"
    " move, stop the other nodes, and start this one without ORCHESTRATOR_NODE_URL"
)


class RelocationPart(Part):
    """Runs steps of moves, for the operator at the terminal only."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        return {} if peer is None else {STEP: self._run_step}

    async def _run_step(self, params: JsonValue) -> StepReport:
        daemon, request = self.daemon, StepRequest.model_validate(params)
        if daemon.placement.share is not None and request.step != LOOK:
            raise RpcError(FAILED, SHARED.format(home=daemon.settings.home))
        live = request.model_copy(update={"live": True})
        try:
            report = await daemon.store.transact(run_step, live, daemon.machine.clock())
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        # The agent may be paused or resumed, have new messages, tasks and replies, or none.
        daemon.operations.guard.wake()
        daemon.control.wake()
        return report
