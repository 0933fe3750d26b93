"""What a running daemon does for a move: its steps in the journal, between its other work."""

from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.errors import OrchestratorError
from orchestrator.extension import Part
from orchestrator.extensions.relocation.journal_steps import StepReport, StepRequest, run_step
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

STEP = "relocation/step"  # StepRequest → StepReport
ELSEWHERE = (
    "the node {node} works for agent {agent!r}; let it give its agents to this one"
    " (orchestrator nodes drain {node}), or move the agent from a home there"
)


class RelocationPart(Part):
    """Runs steps of moves, for the operator at the terminal only."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        return {} if peer is None else {STEP: self._run_step}

    async def _run_step(self, params: JsonValue) -> StepReport:
        daemon, request = self.daemon, StepRequest.model_validate(params)
        agent_id, live = request.agent_id, request.model_copy(update={"live": True})
        node = daemon.placement.find_owner(agent_id)
        if node is not None:
            raise RpcError(FAILED, ELSEWHERE.format(agent=agent_id, node=node.url or node.name))
        try:
            now = daemon.machine.clock()
            report = await daemon.store.transact(run_step, live, now, owner=agent_id)
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        # The agent may be paused or resumed, have new messages, tasks and replies, or none.
        daemon.operations.guard.wake()
        daemon.control.wake()
        return report
