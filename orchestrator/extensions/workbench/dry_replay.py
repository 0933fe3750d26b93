"""Build recorded requests again without sending any, and compare them with what was sent."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson

from orchestrator.errors import ConfigError, WorkerError
from orchestrator.extensions.workbench.rebuilt_runs import build_recorded_run
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.extensions.workbench.recorded_turns import MadeRequest, RecordedTurn
from orchestrator.extensions.workbench.trial_worker import (
    KeptWorker,
    ModelOnTrial,
    TrialHome,
    build_trial_spec,
)
from thinker.protocol.methods import PROMPT_PREVIEW, TurnRun
from thinker.protocol.prompt_record import PromptPreview, PromptRecord

DIGITS = 32  # of the SHA-256 of a request, as workers record it
PICTURES = "pictures that it showed have been deleted"
VERSION = "it is built otherwise by this version of the program, or by a setting that is not kept"
SHORTENED = "it was shortened to what its model had said to read at once"
SHORTER = 0.7  # of what is built, of a request that was shortened
CHANGED = "what is changed"
ChangeRun = Callable[[TurnRun, RecordedPart], TurnRun]


@dataclass(frozen=True, kw_only=True)
class DryRequest:
    """A request that was built again: whether it has the recorded bytes; None if that is unknown.

    ``differs`` says what is not as recorded, ``layers`` the names of layers that are not.
    """

    model: str
    size: int
    digest: str
    exact: bool | None
    differs: str = ""
    layers: tuple[str, ...] = ()


@dataclass(frozen=True)
class DryTurn:
    """The requests of a turn built again, or why that is ``impossible``."""

    turn_id: str
    requests: tuple[DryRequest, ...] = ()
    impossible: str = ""

    @property
    def exact(self) -> int:
        """How many requests have the recorded bytes."""
        return sum(request.exact is True for request in self.requests)

    @property
    def obstacle(self) -> str:
        """Why a trial of the turn would prove nothing; empty if it can be tried."""
        wrong = (
            f"request {number} cannot be made again: {request.differs}"
            for number, request in enumerate(self.requests, 1)
            if request.exact is False
        )
        return self.impossible or next(wrong, "")


@dataclass(frozen=True)
class DryReplay:
    """Builds requests again, in the worker that is kept; for another ``model`` if there is one."""

    home: TrialHome
    kept: KeptWorker
    model: str = ""

    async def rebuild_turn(self, turn: RecordedTurn, change: ChangeRun | None = None) -> DryTurn:
        """Build the requests of a turn, with a ``change`` of what was recorded if any."""
        if turn.impossible:
            return DryTurn(turn.turn_id, impossible=turn.impossible)
        try:
            made = [await self._rebuild(turn, n, change) for n in range(len(turn.requests))]
        except (ConfigError, WorkerError) as error:
            return DryTurn(turn.turn_id, impossible=str(error))
        return DryTurn(turn.turn_id, tuple(made))

    async def _rebuild(
        self, turn: RecordedTurn, number: int, change: ChangeRun | None
    ) -> DryRequest:
        sent = turn.requests[number]
        part = turn.parts[sent.part]
        spec = build_trial_spec(
            self.home,
            part,
            ModelOnTrial(name=self.model or sent.model),
            self.kept.means.folder,
            self.kept.means.files,
        )
        run = build_recorded_run(turn, number, self.home.agents)
        worker = await self.kept.find_worker(spec)
        run = run if change is None else change(run, part)
        made = await worker.send_request(PROMPT_PREVIEW, run, PromptPreview)
        found = _compare_request(sent, made.request.encode())
        layers = list_changed_layers(part.record, made.record)
        if found.exact is False:
            shorter = 0 < sent.size < SHORTER * found.size
            reason = PICTURES if turn.lacks_pictures else SHORTENED if shorter else VERSION
            if change is not None or self.model:
                reason = CHANGED
            named = f"layer {', '.join(layers)}" if layers else reason
            found = replace(found, differs=named, layers=layers)
        return replace(found, model=self.model or sent.model)


def list_changed_layers(before: PromptRecord, after: PromptRecord) -> tuple[str, ...]:
    """Return the names of the layers that differ, and ``tools`` if others are offered."""
    ours, theirs = ({layer.name: layer.text for layer in one.layers} for one in (after, before))
    names = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
    if sorted(before.tools) != sorted(after.tools):
        names.append("tools")
    return tuple(names)


def _compare_request(sent: MadeRequest, body: bytes) -> DryRequest:
    """Compare a built request with the recorded one, without what the model had refused."""
    if sent.left_out and body:
        fields = orjson.loads(body)
        body = orjson.dumps({k: v for k, v in fields.items() if k not in sent.left_out})
    digest = compute_digest(body)
    exact = None if not (sent.digest and body) else digest == sent.digest
    return DryRequest(model=sent.model, size=len(body), digest=digest, exact=exact)


def compute_digest(body: bytes) -> str:
    """Return the digest of a request as `CallAttempt` has it."""
    return hashlib.sha256(body).hexdigest()[:DIGITS]
