"""Store the calls of a step (T3), with what an agent's process does not decide."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import apsw

from orchestrator.journal.turns import steps
from orchestrator.journal.turns.prompt_records import NO_SOURCES, PromptSources
from orchestrator.prompts.prompt_tools import fixed_options
from thinker.formats.prompts.bundle import PromptBundle
from thinker.protocol.messages import SideEffect
from thinker.protocol.methods import PlannedCall, StepCommit, StepCommitted


@dataclass(frozen=True)
class CallPlanner:
    """Stores steps and their calls (T3), each with the side-effect class of its tool.

    ``bundle`` is the agent's prompt definition. Its fixed options are set here: a worker that left
    them out, or changed them, changes nothing.
    """

    classes: Mapping[str, SideEffect]
    bundle: PromptBundle | None
    epoch: int
    now: int

    def plan(
        self,
        db: apsw.Connection,
        commit: StepCommit,
        handed_back: Collection[str] = (),
        sources: PromptSources = NO_SOURCES,
    ) -> StepCommitted:
        """Store a step; ``handed_back`` are tools of an API client, which have no options."""
        calls = tuple(
            call
            if call.rejected is not None or call.name in handed_back
            else self._with_options(call)
            for call in commit.calls
        )
        commit = commit.model_copy(update={"calls": calls})
        return steps.plan(db, commit, self.classes, self.epoch, self.now, sources)

    def _with_options(self, call: PlannedCall) -> PlannedCall:
        arguments = call.arguments | fixed_options(self.bundle, call.name)
        return call.model_copy(update={"arguments": arguments})
