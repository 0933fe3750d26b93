"""The methods with which the command line erases data in a running daemon."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import UNKNOWN_NAME, Ack
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import Part
from orchestrator.extensions.erasure import erasure, person
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.extensions.erasure.person import Person
from orchestrator.journal.db.database import Database
from thinker.protocol.names import ChatName
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

S = TypeVar("S")
FORGET = "forget"  # ErasureTarget → Ack
FORGET_PERSON = "forget/person"  # PersonTarget → Ack


class ErasureTarget(CamelModel):
    """The target of an erasure: an agent, or a chat of a channel."""

    agent: str | None = None
    channel: str | None = None
    chat: str | None = None


class PersonTarget(CamelModel):
    """A person, by the chats and the logins that are forgotten."""

    chats: tuple[str, ...] = ()
    users: tuple[str, ...] = ()

    def build_person(self) -> Person:
        return Person(tuple(map(ChatName.parse, self.chats)), self.users)


class ErasurePart(Part):
    """Erases data, for the operator at the terminal only."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        methods = {FORGET: self._forget_subject, FORGET_PERSON: self._forget_person}
        return {} if peer is None else methods

    async def _forget_subject(self, params: JsonValue) -> Ack:
        daemon, target = self.daemon, ErasureTarget.model_validate(params)
        subject = Subject(**target.model_dump(by_alias=False))
        if subject.agent in daemon.operations.supervisor.slots:
            raise RpcError(FAILED, f"{subject} is in agents.json; remove it there first")
        return await self._change_journal(erasure.forget, subject)

    async def _forget_person(self, params: JsonValue) -> Ack:
        found = PersonTarget.model_validate(params).build_person()
        return await self._change_journal(person.forget_person, found)

    async def _change_journal(self, change: Callable[[Database, S, int], None], subject: S) -> Ack:
        daemon = self.daemon
        try:
            await daemon.store.transact(change, subject, daemon.machine.clock())
        except OrchestratorError as error:
            code = UNKNOWN_NAME if isinstance(error, UnknownNameError) else FAILED
            raise RpcError(code, str(error)) from error
        daemon.control.wake()
        # agents.json names chats by the ids that the journal knows.
        await daemon.operations.reload_configuration()
        return Ack()
