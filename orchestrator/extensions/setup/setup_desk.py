"""The requests to set up a running daemon, with their handlers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from pydantic import JsonValue

from orchestrator.control.status_reports import report_status
from orchestrator.extension import DaemonView
from orchestrator.extensions.setup import setup_requests as names
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.bot_setup import BotSetup
from orchestrator.extensions.setup.model_account import parse_host
from orchestrator.extensions.setup.model_setup import ModelSetup
from orchestrator.extensions.setup.setup_requests import ModelState, SetupState
from orchestrator.extensions.setup.stored_keys import StoredKeys
from orchestrator.journal.db.database import Database
from thinker.protocol.peer import RequestHandler

PROOF_AGE = 60.0  # seconds since the journal was written: a look at the state writes nothing
DEMO = "demo"


@dataclass(frozen=True)
class SetupDesk:
    """All that a daemon does to be set up."""

    daemon: DaemonView
    text: AgentsText

    @cached_property
    def keys(self) -> StoredKeys:
        """The daemon's keys."""
        return StoredKeys(self.daemon, self.text)

    @cached_property
    def models(self) -> ModelSetup:
        """The models of its agents."""
        return ModelSetup(self.daemon, self.text, self.keys)

    @cached_property
    def bots(self) -> BotSetup:
        """Its bots of Telegram."""
        return BotSetup(self.daemon, self.text, self.keys)

    def build_methods(self, by: str) -> Mapping[str, RequestHandler]:
        """Return the handlers for someone's requests, keyed by method."""
        return {
            names.SETUP_STATE: self._describe_state,
            names.SETUP_OFFERS: self.models.list_offers,
            names.SETUP_MODEL: partial(self.models.set_up_model, by),
            names.SETUP_BOT: partial(self.bots.set_up_bot, by),
            names.KEYS_LIST: self.keys.list_keys,
            names.KEYS_SET: self.keys.set_key,
            names.KEYS_REMOVE: self.keys.remove_key,
        }

    async def _describe_state(self, params: JsonValue) -> SetupState:
        return SetupState(
            model=await self._describe_model(),
            telegram=self.bots.list_bots(),
            keys=(await self.keys.list_keys(params)).keys,
            local_servers=await self.models.list_local_servers(),
            first_message=await self.daemon.store.read(_has_answered),
        )

    async def _describe_model(self) -> ModelState | None:
        """Return the model of the first agent, and whether its last call had an answer."""
        report = await report_status(self.daemon.operations, PROOF_AGE)
        agent = next(iter(report.agents), None)
        if agent is None:
            return None
        problem, named = agent.reason or agent.paused, f"{agent.provider}/{agent.model}"
        works = False if problem else None
        if works is None and agent.provider != DEMO:
            asked = await self.daemon.store.read(_has_called, agent.agent_id, named)
            works = True if asked or self.models.tried.get(agent.agent_id) == named else None
        defined = self.daemon.get_agents_file().find_agent(agent.agent_id)
        return ModelState(
            agent_id=agent.agent_id,
            provider=agent.provider,
            model=agent.model,
            works=works,
            problem=problem,
            host=parse_host(defined.base_url or "") if defined else "",
        )


def _has_answered(db: Database) -> bool:
    """Return whether a message of a person was ever answered."""
    query = "SELECT 1 FROM inbox WHERE origin = 'user' AND state = 'done' LIMIT 1"
    return db.execute(query).fetchone() is not None


def _has_called(db: Database, agent_id: str, model: str) -> bool:
    """Return whether the newest call of an agent was to this model, and brought an answer."""
    row = db.execute(
        "SELECT model, state, completion FROM model_call WHERE agent_id = ?"
        " ORDER BY at DESC LIMIT 1",
        (agent_id,),
    ).fetchone()
    return row is not None and (row[0], row[1]) == (model, "settled") and int(row[2]) > 0
