"""The methods with which the command line erases data in a running daemon."""

from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import UNKNOWN_NAME, Ack
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import Part
from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import Subject
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

FORGET = "forget"  # ErasureTarget → Ack


class ErasureTarget(CamelModel):
    """The target of an erasure: an agent, or a chat of a channel."""

    agent: str | None = None
    channel: str | None = None
    chat: str | None = None


class ErasurePart(Part):
    """Erases data, for the operator at the terminal only."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        return {} if peer is None else {FORGET: self._forget_subject}

    async def _forget_subject(self, params: JsonValue) -> Ack:
        daemon, target = self.daemon, ErasureTarget.model_validate(params)
        subject = Subject(**target.model_dump(by_alias=False))
        if subject.agent in daemon.operations.supervisor.slots:
            raise RpcError(FAILED, f"{subject} is in agents.json; remove it there first")
        try:
            await daemon.store.transact(erasure.forget, subject, daemon.machine.clock())
        except OrchestratorError as error:
            code = UNKNOWN_NAME if isinstance(error, UnknownNameError) else FAILED
            raise RpcError(code, str(error)) from error
        daemon.control.wake()
        # agents.json names chats by the ids that the journal knows.
        await daemon.operations.reload_configuration()
        return Ack()
