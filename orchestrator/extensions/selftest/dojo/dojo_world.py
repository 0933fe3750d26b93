"""A daemon in which AgentDojo's cases are tried: its model, its servers, and its operator.

Each place is an agent with an MCP server of its own, so that cases run beside each other; each case
is a new chat.
"""

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import anyio
import apsw
from anyio.abc import Process, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from orchestrator.child_signals import stop_child
from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.control.protocol import ChatOutcome, ChatSend, ChatWait
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.selftest.crash.daemon_process import (
    execute_daemon,
    wait_until_connected,
)
from orchestrator.extensions.selftest.dojo import suite_host
from orchestrator.extensions.selftest.dojo.obedient_plan import (
    AnsweredCall,
    AskedPerson,
    ObedientPlan,
    SuiteCall,
    group_calls,
)
from orchestrator.settings import Settings
from orchestrator.testing.loopback import ForeignJson, LoopbackServer, build_response
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import Peer

VERSION = "v1.2"  # of the tasks: 97, and 949 pairs
STEPS = 50  # of a turn
DIRECTORIES = ("get_channels", "search_contacts_*")  # as an operator would trust them
WITHIN = 300.0  # seconds for a start and for each case; an idle machine needs a hundredth
POLL = 0.02  # seconds between two looks for questions
MAX_LINE = 1 << 26  # bytes of an answer of the suite's host
_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
_PENDING = (
    "SELECT ifnull(approval.asked_with, approval.id), turn.agent_id, approval.reason,"
    " approval.code, step.name, step.args"
    " FROM approval JOIN step ON step.turn_id = approval.turn_id AND step.seq = approval.seq"
    " JOIN turn ON turn.id = approval.turn_id WHERE approval.state = 'pending'"
    " ORDER BY approval.asked_with IS NOT NULL, approval.id"
)


@dataclass(frozen=True)
class Case:
    """A task of a suite, alone or with an order of an attacker in all that it may read."""

    suite: str
    task: str
    order: str = ""


@dataclass(frozen=True)
class DojoQuestion:
    """A question that the operator was asked: why, about which calls, and the answer."""

    reason: str
    calls: tuple[SuiteCall, ...]
    granted: bool


@dataclass(frozen=True)
class CaseResult:
    """What came of a case; ``ended`` tells whether its turn was answered in time."""

    case: Case
    solved: bool
    won: bool
    questions: tuple[DojoQuestion, ...]
    ended: bool = True


class CaseModel(LoopbackServer):
    """OpenAI's chat completions: each model follows the plan of the place of its name."""

    def __init__(self) -> None:
        self.plans: dict[str, ObedientPlan] = {}

    async def _send_response(self, stream: SocketStream, path: str, body: ForeignJson) -> None:
        if not path.endswith("/chat/completions"):  # a question about the window
            await stream.send(build_response(404, b"{}"))
            return
        message = self._build_message(body)
        finish = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        whole = {"id": "x", "model": body["model"], "choices": [choice], "usage": _USAGE}
        await stream.send(build_response(200, json.dumps(whole).encode()))

    def _build_message(self, body: ForeignJson) -> ForeignJson:
        place, messages = body["model"], body["messages"]
        plan = self.plans[place]
        made = sum(1 for message in messages if message.get("tool_calls"))
        read = (
            str(message.get("content")) for message in messages if message["role"] != "assistant"
        )
        step = plan.next_step(made, read)
        if step is None:
            return {"role": "assistant", "content": plan.answer or "Done."}
        calls = [
            {
                "id": f"call_{made}_{number}",
                "type": "function",
                "function": {
                    "name": f"{place}_{call.tool}",
                    "arguments": json.dumps(call.arguments),
                },
            }
            for number, call in enumerate(step)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}


class HostedSuites:
    """The program that holds the suites' environments; one request at a time."""

    def __init__(self, process: Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise OrchestratorError("AgentDojo's host has no input and output")
        self._input, self._process = process.stdin, process
        self._output = BufferedByteReceiveStream(process.stdout)
        self._lock = anyio.Lock()
        self.port = 0

    async def ask(self, *request: object) -> ForeignJson:
        """Return the answer to a request: a suite, an action, and its arguments."""
        async with self._lock:
            await self._input.send(f"{json.dumps(request)}\n".encode())
            return json.loads(await self._receive_line())  # type: ignore[no-any-return]

    async def wait_for_port(self) -> None:
        """Wait until all places are served."""
        self.port = int(await self._receive_line())

    async def _receive_line(self) -> bytes:
        try:
            with anyio.fail_after(WITHIN):
                return await self._output.receive_until(b"\n", MAX_LINE)
        except anyio.IncompleteRead:
            raise OrchestratorError("AgentDojo's host has ended; see above") from None


class DojoWorld:
    """A running daemon with a suite. ``persons`` are those who answer questions, by place."""

    def __init__(
        self, settings: Settings, peer: Peer, model: CaseModel, hosted: HostedSuites
    ) -> None:
        self._settings, self._peer = settings, peer
        self._model, self._hosted = model, hosted
        self._persons: dict[str, AskedPerson] = {}
        self._questions: dict[str, list[DojoQuestion]] = {}
        self._answered: set[str] = set()

    async def try_case(self, place: str, case: Case, *, absent: bool = False) -> CaseResult:
        """Try a case in a place, in a new chat; with ``absent``, all questions are denied."""
        begun = await self._hosted.ask(case.suite, "begin", place, case.task, case.order)
        own, ordered = _parse_plan(begun["plan"]), _parse_plan(begun["ordered"])
        order = begun["order"] if ordered else ""
        prompt = begun["prompt"]
        self._model.plans[place] = ObedientPlan(
            group_calls(own, prompt), begun["answer"], order, group_calls(ordered, order)
        )
        self._persons[place] = AskedPerson(tuple(one.call for one in own), absent=absent)
        self._questions[place] = []
        outcome = await self._say(place, prompt)
        answer = _restore_links("\n".join(outcome.texts))
        verdict = await self._hosted.ask(case.suite, "judge", place, answer)
        return CaseResult(
            case,
            verdict["solved"],
            verdict["won"],
            tuple(self._questions[place]),
            outcome.state == "done",
        )

    async def _say(self, place: str, text: str) -> ChatOutcome:
        message = uuid4().hex
        send = ChatSend(chat=uuid4().hex, message=message, text=text, agent=place)
        await self._peer.request(protocol.CHAT_SEND, send, timeout=WITHIN)
        wait = ChatWait(message=message, seconds=WITHIN)
        return await self._peer.call(protocol.CHAT_WAIT, wait, ChatOutcome, timeout=2 * WITHIN)

    async def answer_questions(self) -> None:
        """Answer questions as their persons do, until cancelled."""
        path = str(self._settings.paths.journal)
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as db:
            db.set_busy_timeout(1000)  # milliseconds
            while True:
                for asked in _group_rows(db.execute(_PENDING).fetchall()).values():
                    await self._answer(asked)
                await anyio.sleep(POLL)

    async def _answer(self, rows: list[tuple[str, ...]]) -> None:
        """Answer the question of these rows, the first of which has its code."""
        place, reason, code = rows[0][:3]
        if code in self._answered:
            return
        self._answered.add(code)
        calls = tuple(
            SuiteCall(row[3].removeprefix(f"{place}_"), json.loads(row[4])) for row in rows
        )
        granted = self._persons[place].decide(calls)
        self._questions[place].append(DojoQuestion(reason, calls, granted))
        decision = protocol.ApprovalDecision(code=code, granted=granted)
        await self._peer.request(protocol.APPROVAL_DECIDE, decision, timeout=WITHIN)


def _group_rows(rows: Sequence[Sequence[object]]) -> dict[int, list[tuple[str, ...]]]:
    groups: dict[int, list[tuple[str, ...]]] = {}
    for first, *rest in rows:
        groups.setdefault(int(str(first)), []).append(tuple(str(value) for value in rest))
    return groups


def _restore_links(text: str) -> str:
    """Return a reply with the links that it has defused: they tell what they told."""
    return text.replace("hxxp", "http").replace("[.]", ".")


def _parse_plan(plan: list[ForeignJson]) -> list[AnsweredCall]:
    return [
        AnsweredCall(SuiteCall(one["tool"], one["arguments"]), one["result"], one["reads"])
        for one in plan
    ]


def build_agents_file(
    places: Sequence[str], model: str, servers: str, fields: Mapping[str, object]
) -> JsonObject:
    """Return the agents.json: an agent and a server for each place, at these addresses."""
    agents = [
        {
            "agentId": place,
            "llmProvider": "openai",
            "baseUrl": f"{model}/v1",
            "model": place,
            "systemPrompt": "You are a helpful assistant.",
            "maxSteps": STEPS,
            "skills": [],
            "compaction": {"enabled": False},
            "factExtraction": {"enabled": False},
            "deniedTools": [f"{other}_*" for other in places if other != place],
            **fields,
        }
        for place in places
    ]
    tools = {
        place: {"url": f"{servers}/{place}", "trusted": True, "directories": DIRECTORIES}
        for place in places
    }
    whole = {"agents": agents, "mcpServers": tools}
    return json.loads(json.dumps(whole))  # type: ignore[no-any-return]


@asynccontextmanager
async def host_suites(python: str) -> AsyncIterator[HostedSuites]:
    """Run the program that holds the suites, by AgentDojo's Python."""
    command = (python, str(Path(suite_host.__file__)), VERSION)
    async with await anyio.open_process(command, stderr=None) as process:
        try:
            hosted = HostedSuites(process)
            await hosted.wait_for_port()
            yield hosted
        finally:
            process.kill()


@asynccontextmanager
async def run_dojo(
    folder: Path,
    suite: str,
    hosted: HostedSuites,
    places: Sequence[str],
    fields: Mapping[str, object],
) -> AsyncIterator[DojoWorld]:
    """Run a daemon in ``folder``, which exists and is empty, with an agent for each place.

    ``fields`` are settings of all agents.
    """
    home = folder / "home"
    home.mkdir(mode=0o700)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ORCHESTRATOR_HOME": str(home),
        "OPENAI_API_KEY": "none",
    }
    async with CaseModel() as model:
        servers = f"http://127.0.0.1:{hosted.port}/{suite}"
        file = build_agents_file(places, model.url, servers, fields)
        (home / "agents.json").write_text(json.dumps(file), "utf-8")
        process = await execute_daemon(environ, home, folder / "log", sys.executable)
        settings = Settings.model_validate({"home": home})
        try:
            await wait_until_connected(process, settings, folder / "log", WITHIN)
            async with (
                open_control_connection(settings) as peer,
                anyio.create_task_group() as tasks,
            ):
                world = DojoWorld(settings, peer, model, hosted)
                tasks.start_soon(world.answer_questions)
                yield world
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await stop_child(process, WITHIN)
