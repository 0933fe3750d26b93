"""Notice what came into force without its gate: edits on disk, which no gate may hold up.

The journal keeps digests of what was tried, or saved by a person who insisted, for each agent.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import orjson
import structlog

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench.edit_changes import find_gate
from orchestrator.journal.db.database import Database
from orchestrator.prompts.skill_set import may_use_skill
from orchestrator.settings import Settings
from orchestrator.wakeup import Wakeup
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError
from thinker.formats.skill_file import scan_skills

KEY = "tried/{}"  # in the table meta: the digests of what was tried, newest last
MAX_KEPT = 20  # so that going back to an earlier text needs no new trial
MINUTE = 60_000  # milliseconds in which a text that a gate let through comes into force
HINT = (
    "agent '{agent}' has changed since its gate '{name}' was tried; try it with:"
    " orchestrator prompt test {agent}"
)
# What an answer depends on; other fields may change without a trial.
TELLING = frozenset(
    {
        "llm_provider",
        "model",
        "profile",
        "temperature",
        "max_output_tokens",
        "effort",
        "max_steps",
        "system_prompt",
        "allowed_tools",
        "denied_tools",
        "prompt",
        "tool_calls",
        "skills",
        "prompt_layout",
        "approvals",
    }
)
log = structlog.get_logger()


@dataclass
class GateWatch:
    """Compares what is in force with what was tried; ``untried`` maps agents to their gates."""

    daemon: DaemonView
    untried: dict[str, str] = field(default_factory=dict, init=False)
    _let_through: dict[str, int] = field(default_factory=dict, init=False)
    _changed: Wakeup = field(default_factory=Wakeup, init=False)

    def wake(self) -> None:
        """Compare again: something came into force."""
        self._changed.wake()

    def let_through(self, agent_ids: Iterable[str]) -> None:
        """Note that a text of these agents is saved now, by way of their gates."""
        now = self.daemon.machine.clock()
        self._let_through |= dict.fromkeys(agent_ids, now)

    def list_hints(self) -> list[str]:
        """Return which agents have changed without a trial."""
        return [HINT.format(agent=agent, name=name) for agent, name in self.untried.items()]

    async def run(self) -> None:
        """Compare at the start and after each change."""
        while True:
            changed = self._changed.changed
            try:
                await self.compare_agents()
            except OrchestratorError as error:  # the journal takes nothing now
                log.warning("gates_not_compared", problem=str(error))
            await changed.wait()

    async def compare_agents(self) -> None:
        """Compare each agent that has a gate."""
        gated = {
            agent.agent_id: gate.set
            for agent in self.daemon.get_agents_file().agents
            if agent.enabled and (gate := find_gate(agent)) is not None
        }
        self.untried = {name: one for name, one in self.untried.items() if name in gated}
        for agent_id, set_name in gated.items():
            digest = await self._compute_digest(agent_id)
            at = self._let_through.get(agent_id)
            fresh = at is not None and self.daemon.machine.clock() - at < MINUTE
            known = await self.daemon.store.read(list_tried, agent_id)
            if digest in known:
                self.untried.pop(agent_id, None)
            elif fresh or not known:  # what is in force with a new gate is what the gate keeps
                await self.mark_tried(agent_id, digest)
            else:
                self.untried[agent_id] = set_name

    async def mark_tried(self, agent_id: str, digest: str = "") -> None:
        """Note that what is in force of an agent was tried."""
        digest = digest or await self._compute_digest(agent_id)
        await self.daemon.store.transact(record_tried, agent_id, digest)
        self._let_through.pop(agent_id, None)
        self.untried.pop(agent_id, None)

    async def _compute_digest(self, agent_id: str) -> str:
        daemon = self.daemon
        agent = daemon.get_agents_file().find_agent(agent_id)
        if agent is None:
            return ""
        bundle = daemon.configuration.prompts.current_set.find_bundle(agent)
        text = "" if bundle is None else orjson.dumps(bundle.dump_json()).decode()
        return await daemon.machine.in_thread(compute_agent_digest, daemon.settings, agent, text)


def compute_agent_digest(settings: Settings, agent: AgentDefinition, definition: str) -> str:
    """Return a digest of what an agent's answers depend on, by its files and its definition."""
    persona = ""
    with suppress(FileError):
        path = settings.personas / agent.agent_id / "instructions.md"
        persona = regular_file.read_text(path, regular_file.BASE_PROMPT)
    skills, _ = scan_skills(settings.paths.list_skill_directories(agent.agent_id))
    parts = [
        agent.model_dump_json(include={*TELLING}),
        definition,
        persona,
        *sorted(skill.model_dump_json() for skill in skills if may_use_skill(agent, skill)),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def list_tried(db: Database, agent_id: str) -> list[str]:
    """Return the digests of what was tried of an agent."""
    return str(
        db.execute("SELECT v FROM meta WHERE k = ?", (KEY.format(agent_id),)).get or ""
    ).split()


def record_tried(db: Database, agent_id: str, digest: str) -> None:
    """Note that something was tried of an agent."""
    kept = [one for one in list_tried(db, agent_id) if one != digest][1 - MAX_KEPT :]
    db.execute(
        "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
        (KEY.format(agent_id), " ".join((*kept, digest))),
    )
