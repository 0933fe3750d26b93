"""Move an agent from home to home, step by step; what was interrupted goes on with the next run.

Every step is one transaction of a journal, or a file that gets its name when it is whole. See
`journal_steps` for what each journal knows meanwhile.
"""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.relocation import (
    agent_files,
    agent_text,
    move_plan,
    row_file,
    waiting_messages,
)
from orchestrator.extensions.relocation.agent_tables import AgentRows
from orchestrator.extensions.relocation.homes import Home
from orchestrator.extensions.relocation.journal_steps import Move, StepReport, StepRequest
from orchestrator.extensions.relocation.move_plan import MovePlan
from orchestrator.extensions.relocation.row_file import TableDigest
from orchestrator.failpoints import failpoint
from orchestrator.files import write_private

INCOMING = "arrivals"  # the folder of the target with what is on its way
GLANCE = 0.5  # seconds between two looks at whether the agent is at rest
STILL = (
    "agent '{agent}' is not at rest after {seconds:.0f} seconds: {busy}. It {state}; wait for its"
    " answers and run the move again, or give it longer: --wait SECONDS"
)
POLLED = (
    "{source} still receives the bot of channel {channel}, and two homes cannot; take {names} out"
    " of keys.env there (or out of its environment, and restart it), then run this again. What is"
    " written to the bot meanwhile waits at the platform"
)
NOT_MOVED = (
    "agent '{agent}' is not on a move from {source}; begin one with: orchestrator agents move"
    " {agent} --to HOME"
)
UNFINISHED = "agent '{agent}' has not arrived yet; run its move again, or end it with --undo"


@dataclass(frozen=True)
class Relocation:
    """The way of one agent; ``say`` is told each step that was done.

    ``patience`` is for how many seconds the agent may finish what it does.
    """

    source: Home
    target: Home
    agent_id: str
    say: Callable[[str], None] = lambda _: None
    patience: float = 60.0
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _id: list[str] = field(default_factory=list, init=False)

    def find_move(self) -> Move | None:
        """Return the move at the source, or None."""
        if not self.source.has_journal:
            return None
        return self._run_at_source("look").move

    def move(self, plan: MovePlan) -> dict[str, TableDigest]:
        """Move the agent; return the digests of its rows, which are the same at both homes.

        Raises:
            OrchestratorError: a step is impossible; the message says what to do. The next run goes
            on from there.
        """
        known = self.find_move()
        self._id[:] = [known.id if known is not None else uuid4().hex]
        if known is None:
            self.target.keep_address()
            self._run_at_target("check")  # before the agent is paused
        if known is None or known.phase == "leaving":
            known = self._leave(resumed=known is not None)
            failpoint("relocation:left")
            self._run_at_target("expect", resumes=known.resumes)
            failpoint("relocation:expected")
            self._place_files(plan)
            failpoint("relocation:placed")
            self._send_rows()
            failpoint("relocation:sent")
        digests = row_file.read_digests(self._rows_path)
        self._run_at_source("depart")
        failpoint("relocation:departed")
        self._run_at_target("activate")
        self.say("it works there; here it is paused and kept")
        return digests

    def confirm(self) -> int:
        """End a move for good; return how many late messages followed the agent.

        Raises:
            OrchestratorError: the agent has not arrived, or its bot is still received here.
        """
        move = self._require_move()
        if move.phase != "moved":
            raise OrchestratorError(UNFINISHED.format(agent=self.agent_id))
        self.target.require_folder()
        self._run_at_target("activate")
        text = move_plan.read_agents_text(self.source) or ""
        if self.agent_id in agent_text.list_agents(text):
            self._require_silent_bots()
            count = self._forward_messages(move)
            failpoint("relocation:forwarded")
            self._write_agents(self.source, agent_text.remove_agent(text, self.agent_id))
            failpoint("relocation:removed")
        else:
            count = 0
        self._run_at_target("close")
        self._run_at_source("forget")
        self._clear_folder()
        return count

    def undo(self) -> None:
        """Give the agent back to its old home, if it has done nothing at the new one.

        An agent that has not arrived comes back even if its new home is out of reach: there it
        stays paused.

        Raises:
            OrchestratorError: it has worked there, or has arrived where nothing answers.
        """
        move = self._require_move()
        try:
            self._take_back()
        except OrchestratorError as error:
            if move.phase == "moved":
                raise
            self.say(f"the new home keeps what it has of the agent, paused: {error}")
        self._run_at_source("return")

    def _take_back(self) -> None:
        """Remove the agent from its new home."""
        self.target.require_folder()
        self._run_at_target("withdraw")
        failpoint("relocation:withdrawn")
        text = move_plan.read_agents_text(self.target)
        if text is not None and (self._folder / "placed").exists():
            self._take_back_files(text)
        self._run_at_target("discard")
        self._clear_folder()
        failpoint("relocation:cleared")

    @property
    def _folder(self) -> Path:
        return self.target.settings.home / INCOMING / self._id[0]

    @property
    def _rows_path(self) -> Path:
        return self._folder / "rows"

    def _run_at_source(self, step: str, waiting: tuple[int, ...] = ()) -> StepReport:
        return self.source.run_step(self._request(step, self.source, self.target, waiting=waiting))

    def _run_at_target(self, step: str, **fields: object) -> StepReport:
        request = self._request(step, self.target, self.source)
        return self.target.run_step(request.model_copy(update=fields))

    def _request(
        self, step: str, here: Home, there: Home, waiting: tuple[int, ...] = ()
    ) -> StepRequest:
        return StepRequest(
            step=step,
            agent_id=self.agent_id,
            id=self._id[0] if self._id else "",
            here=here.name,
            there=there.name,
            waiting=waiting,
        )

    def _leave(self, *, resumed: bool) -> Move:
        """Pause the agent, and wait until it is at rest."""
        report, until = self._run_at_source("leave"), self.clock() + self.patience
        self.say("paused here; its new messages are kept")
        while report.busy and self.clock() < until:
            self.pause(GLANCE)
            report = self._run_at_source("leave")
        if report.move is None:
            raise AssertionError(self.agent_id)
        if report.busy:
            if not resumed:
                self._run_at_source("return")
            works = not resumed and report.move.resumes
            raise OrchestratorError(
                STILL.format(
                    agent=self.agent_id,
                    seconds=self.patience,
                    busy=", ".join(report.busy),
                    state="works on" if works else "stays paused",
                )
            )
        return report.move

    def _place_files(self, plan: MovePlan) -> None:
        """Put the agent's files and its definition into the target."""
        home = self.target.settings
        home.paths.create_directories()
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(mode=0o700, exist_ok=True)
        (self._folder / "placed").touch()
        count = agent_files.copy_files(plan.files, self.source.settings.home, home.home)
        self.say(f"{count} files copied and compared")
        self._write_agents(self.target, plan.target_text)
        self.say(f"defined in {self.target.agents_path}")

    def _clear_folder(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):  # another agent is on its way
            self._folder.parent.rmdir()

    def _take_back_files(self, text: str) -> None:
        file = self.source.load_agents()
        definition = file.find_agent(self.agent_id)
        rest = agent_text.remove_agent(text, self.agent_id)
        if agent_text.list_agents(rest):
            self._write_agents(self.target, rest)
        else:  # the move made the file
            self.target.agents_path.unlink()
            self.target.settings.paths.last_good.unlink(missing_ok=True)
        if definition is not None:
            files = move_plan.find_files(self.source, file, definition)
            agent_files.remove_files(files, self.target.settings.home)

    def _write_agents(self, home: Home, text: str) -> None:
        if move_plan.read_agents_text(home) != text:
            write_private(home.agents_path, text.encode())
        home.reload()

    def _send_rows(self) -> None:
        """Copy the rows, unless they have arrived."""
        report = self._run_at_target("look")
        if report.move is not None and report.move.phase != "arriving":
            return
        self._rows_path.unlink(missing_ok=True)
        agents = self.source.load_agents()
        with self.source.read_journal() as db:
            waiting = waiting_messages.list_waiting(db, agents, self.agent_id)
            ids = tuple(row.id for row in waiting)
            row_file.write_rows(self._rows_path, AgentRows(db, self.agent_id, ids))
        self._run_at_source("send", ids)
        file = row_file.check_file(self._rows_path)
        self._run_at_target("arrive", rows=file)
        rows = sum(one.rows for one in file.digests.values())
        self.say(f"{rows} rows of {len(file.digests)} tables copied and compared")

    def _require_move(self) -> Move:
        move = self.find_move()
        if move is None:
            names = {"agent": self.agent_id, "source": self.source.name}
            raise OrchestratorError(NOT_MOVED.format_map(names))
        self._id[:] = [move.id]
        return move

    def _require_silent_bots(self) -> None:
        file, status = self.source.load_agents(), self.source.find_status()
        running = set() if status is None else {one.name for one in status.channels}
        for channel in move_plan.list_bots(file, self.agent_id):
            names = move_plan.list_secrets(self.source, channel)
            if names or channel in running:
                told = ", ".join(names) or "its key"
                raise OrchestratorError(
                    POLLED.format(source=self.source.name, channel=channel, names=told)
                )

    def _forward_messages(self, move: Move) -> int:
        """Send messages that came to the old home since, and end there what goes on elsewhere."""
        path, count = self._folder / "late", 0
        agents = self.source.load_agents()
        bots = move_plan.list_bots(agents, self.agent_id)
        while True:
            path.unlink(missing_ok=True)
            with self.source.read_journal() as db:
                rows = waiting_messages.list_waiting(db, agents, self.agent_id)
                late = [row for row in rows if row.id not in move.waiting]
                count += waiting_messages.write_messages(path, db, late, bots)
            self._run_at_target("receive", path=str(path))
            self._run_at_source("settle", tuple(row.id for row in rows))
            if not rows:
                return count
