"""The daemon under attack, and everything outside it: people, Telegram, the model, a server."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import anyio
import apsw

from orchestrator.child_signals import stop_child
from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.control.protocol import StatusReport
from orchestrator.extensions.doctor import reach
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.extensions.selftest.attacks import inside
from orchestrator.extensions.selftest.attacks.hostile_server import MAILS, PAGES
from orchestrator.extensions.selftest.attacks.obedient_model import (
    ObedientModel,
    make_call_order,
    make_theft_orders,
)
from orchestrator.extensions.selftest.crash.daemon_process import (
    DaemonProcess,
    StartDaemon,
    execute_daemon,
    wait_until_connected,
)
from orchestrator.extensions.selftest.crash.fake_telegram import BotApiServer
from orchestrator.files import write_private
from orchestrator.settings import Settings
from orchestrator.testing.loopback import ForeignJson, find_free_port
from thinker.protocol.messages import JsonObject

TOKEN = "1000:ATTACKED-BOT-TOKEN"  # noqa: S105 - this bot exists in this process only
PROXIED, PERSON = "page.example", "ann@example.org"  # whom a proxy may name
BELL_SECRET = "attacked-hook"  # noqa: S105 - of a webhook of this process
KEY = "sk-ATTACKED-PROVIDER-KEY"  # of a provider that is never called
BOT = "attacked_bot"
SETTLED_WITHIN = 60.0  # seconds; an idle machine needs a hundredth
READY_WITHIN = 60.0  # seconds
POLL = 0.02  # seconds between two reads of the journal
OWNER = 1  # the operator's private chat
GROUP, CHANNEL = -1_001_000_000_001, -1_001_000_000_002  # bound, as the owner's chat is
GUESTS = range(8000, 8000 + 20)  # private chats whose people may only talk
IMPORT = "from orchestrator.extensions.doctor.reach import try_attempts\n"
# In the user's own home: what starts programs, documents, and keys.
STARTING = (".local/lib", ".local/share/systemd", ".config/git", ".cargo", ".cache/uv", ".tmux")
DOCUMENTS, KEYS = ("documents",), (".ssh", ".aws", ".config/gcloud")
PER_AGENT = 100  # private chats that are bound to each agent, by number
_UNSETTLED = (
    "SELECT count(*) FROM inbox LEFT JOIN turn ON turn.id = inbox.turn_id"
    " WHERE inbox.state NOT IN ('done', 'dead', 'cancelled')"
    " AND coalesce(turn.state, '') <> 'waiting'"
    # A message behind a turn that waits for an approval waits too.
    " AND inbox.chat_key NOT IN (SELECT chat_key FROM turn WHERE state = 'waiting')"
)
_UNSENT = (
    "SELECT count(*) FROM outbox WHERE state IN ('queued', 'ph_sending', 'ph_sent', 'sending')"
    " AND chat_id = ?"
    # The preview of a turn that waits for an approval stays as it is.
    " AND ifnull(turn_id, '') NOT IN (SELECT id FROM turn WHERE state = 'waiting')"
)


SEVERAL = "several defences"


def build_hook() -> str:
    """Return `inside` as a hook, with the code of the attempts, which a worker cannot import."""
    return inspect.getsource(reach) + inspect.getsource(inside).replace(IMPORT, "")


@dataclass(frozen=True)
class Attack:
    """One attack.

    ``run`` returns what the attack reached; nothing if the daemon held. ``defence`` names
    the defence without which the attack succeeds; `SEVERAL` if that takes more than one.
    """

    name: str
    defence: str
    run: "Callable[[AttackWorld], Awaitable[str]]"


class RecordingBot(BotApiServer):
    """A Bot API that keeps each request to show something, unchanged."""

    def __init__(self) -> None:
        super().__init__(TOKEN, BOT)
        self.asked: list[ForeignJson] = []

    async def answer_request(self, path: str, params: ForeignJson) -> tuple[int, bytes]:
        if "text" in params:
            self.asked.append(params)
        return await super().answer_request(path, params)


class AttackWorld:
    """A running daemon and its surroundings. Each attack takes its own chats.

    ``outside`` is a folder beside the home, open to the hostile server. ``journal`` is read through
    one connection: to open one takes longer than to read.
    """

    journal: apsw.Connection

    def __init__(self, folder: Path, bot: RecordingBot, model: ObedientModel, python: str) -> None:
        self.folder = folder
        self.python = python
        self.home = folder / "home"
        self.outside = folder / "outside"
        self.bot = bot
        self.model = model
        self.settings = Settings.model_validate({"home": self.home})
        self.process: DaemonProcess | None = None
        self.api_token = ""
        self.page_port = find_free_port()
        self.reached: dict[str, list[str]] = {}  # keyed by the place that tried
        self._chats = {agent: count(base) for agent, base in _BASES.items()}
        self._numbers = count(1)
        self.guests = iter(GUESTS)
        self._pages: dict[str, object] = {}

    @property
    def pid(self) -> int:
        """The id of the daemon's process."""
        if self.process is None:
            raise RuntimeError("the daemon does not run")
        return self.process.pid

    def find_program(self) -> str:
        """Return the folder of the daemon's program: a checkout, or the installed package."""
        code = "import orchestrator; print(*orchestrator.__path__)"
        command = (self.python, "-P", "-c", code)
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        package = Path(found.stdout.strip())
        return str(package if package.parent.name.endswith("-packages") else package.parent)

    def make_order_id(self) -> str:
        """Return a fresh id of an order."""
        return f"n{next(self._numbers)}"

    def publish_page(self, page: object) -> str:
        """Publish a page, which is text or a whole tool result, and return the page's name."""
        name = f"page{len(self._pages)}"
        self._pages[name] = page
        (self.outside / PAGES).write_text(json.dumps(self._pages), "utf-8")
        return name

    def take_chat(self, agent_id: str = "native") -> int:
        """Return a private chat that no attack has used, bound to this agent."""
        return next(self._chats[agent_id])

    async def write_message(self, chat: int, text: str, **fields: object) -> list[str]:
        """Write in a chat, wait for all that follows, and return the bot's messages there."""
        self.bot.send_user_message(chat, text, **fields)
        await self.wait_until_settled(chat)
        return self.bot.list_texts(chat)

    async def use_tool(self, chat: int, tool: str, **arguments: object) -> list[str]:
        """Let the model call a tool because the chat's own user says so."""
        return await self.write_message(
            chat, make_call_order(self.make_order_id(), tool, **arguments)
        )

    async def visit_page(self, chat: int, page: object, *tools: str) -> list[str]:
        """Let the chat's user ask for a page, and name the tools, so that they are offered."""
        order = make_call_order(self.make_order_id(), "hx_page", name=self.publish_page(page))
        return await self.write_message(chat, f"{order} {' '.join(tools)}")

    async def is_shown_to_model(self, text: str, asking: Awaitable[object]) -> bool:
        """Return whether the model sees ``text`` while ``asking`` runs."""
        self.model.requests.clear()
        await asking
        return any(text in str(request) for request in self.model.requests)

    async def is_agent_paused(self, agent_id: str) -> bool:
        return any(
            agent.agent_id == agent_id and agent.paused
            for agent in (await self.fetch_status()).agents
        )

    async def wait_until_settled(self, chat: int) -> None:
        """Wait until every message is answered or waits for the operator, as the chat shows."""
        with anyio.fail_after(SETTLED_WITHIN):
            while self._is_busy(chat):  # noqa: ASYNC110 - the journal has no events to wait for
                await anyio.sleep(POLL)

    def _is_busy(self, chat: int) -> bool:
        unsettled = self.query_rows(_UNSETTLED) != [(0,)] or self.query_rows(
            _UNSENT, str(chat)
        ) != [(0,)]
        return bool(self.bot.unconfirmed_updates) or unsettled

    def query_rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """Return rows of the journal."""
        return [tuple(row) for row in self.journal.execute(query, values)]

    def list_mails(self, text: str = "") -> list[str]:
        """Return the sent mails that contain ``text``."""
        path = self.outside / MAILS
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [line for line in lines if text in line]

    def list_sent_texts(self, chat: int) -> list[str]:
        """Return the texts that the bot was asked to show in a chat, with markup."""
        return [
            str(asked["text"]) for asked in self.bot.asked if str(asked["chat_id"]) == str(chat)
        ]

    async def fetch_status(self) -> StatusReport:
        async with open_control_connection(self.settings) as peer:
            return await peer.call(protocol.STATUS, None, StatusReport, timeout=SETTLED_WITHIN)

    async def deny_all(self) -> None:
        """Deny what waits for the operator, as its turn would keep others of the agent waiting."""
        async with open_control_connection(self.settings) as peer:
            ask = partial(peer.call, timeout=SETTLED_WITHIN)
            open_questions = await ask(protocol.APPROVAL_LIST, None, protocol.ApprovalList)
            for question in open_questions.approvals:
                decision = protocol.ApprovalDecision(code=question.code, granted=False)
                await ask(protocol.APPROVAL_DECIDE, decision, protocol.Ack)
        await self.wait_until_settled(OWNER)

    async def forget_chat(self, chat: int) -> None:
        """Delete all data of a chat, as the operator's command does."""
        target: JsonObject = {"channel": "telegram", "chat": str(chat)}
        async with open_control_connection(self.settings) as peer:
            await peer.call("forget", target, protocol.Ack, timeout=SETTLED_WITHIN)

    def build_environ(self) -> dict[str, str]:
        """Return the daemon's environment."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "user"),
            "ORCHESTRATOR_HOME": str(self.home),
            "ORCHESTRATOR_API_PORT": "0",
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_URL": self.bot.url,
        }

    def build_agents_file(self) -> JsonObject:
        """Return the agents.json: one agent for each kind of attack."""
        agents = [
            self._build_agent("native"),
            self._build_agent("text", toolCalls="text"),
            self._build_agent("hooked", allowHooks=True, hooks=["probe"], skills=[]),
            self._build_agent("guarded", approvals=["hx_mail"]),
            self._build_agent("described", deniedTools=["hx_*"], budget={"usdPerDay": 1000}),
            self._build_agent("public", workspace=True),
            self._build_agent("handed", deniedTools=["h*"], workspace=True, web=True),
            self._build_agent("joined", memory="agent", promptLayout="cached"),
        ]
        bindings: list[JsonObject] = [
            {"channel": "telegram", "chatId": str(chat), "agentId": agent}
            for agent, base in _BASES.items()
            if agent != "public"
            for chat in range(base, base + PER_AGENT)
        ]
        bindings += [
            {"channel": "telegram", "chatId": str(chat), "agentId": "native"}
            for chat in (OWNER, GROUP, CHANNEL)
        ]
        bindings += [
            {"channel": "telegram", "chatId": str(chat), "agentId": "guarded", "role": "talk"}
            for chat in GUESTS
        ]
        bindings.append({"channel": "telegram", "chatId": "*", "agentId": "public"})
        bindings.append({"channel": "api", "chatId": "*", "agentId": "public"})
        bindings.append({"channel": "web", "chatId": "*", "agentId": "public"})
        command = (
            "-P",
            "-m",
            "orchestrator.extensions.selftest.attacks.hostile_server",
            str(self.outside),
        )
        # The usual jail, and the folder in which a server tells what it has sent.
        sandbox: JsonObject = {"read": ["/"], "write": [str(self.outside)]}
        described = make_theft_orders("description", server="hd")
        web: JsonObject = {
            "port": self.page_port,
            "names": [PROXIED],
            "identity": {"header": "X-Forwarded-Email", "users": {PERSON: "operator"}},
        }
        return {
            "channels": {
                "telegram": {"access": "open"},
                "web": web,
                "hook": {"incoming": {"bell": {"agentId": "native", "secret": BELL_SECRET}}},
            },
            "agents": [*agents],
            "prices": {"openai/obedient": {"input": 1, "output": 1}},
            "bindings": [*bindings],
            "mcpServers": {
                "hx": {"command": self.python, "args": [*command], "sandbox": sandbox},
                "hd": {"command": self.python, "args": [*command, described], "sandbox": sandbox},
            },
        }

    def _build_agent(self, agent_id: str, **fields: object) -> JsonObject:
        agent = {
            "agentId": agent_id,
            "llmProvider": "openai",
            "baseUrl": f"{self.model.url}/v1",
            "model": "obedient",
            "systemPrompt": f"You are {agent_id}.",
            "factExtraction": {"enabled": False},
            "deniedTools": ["hd_*"],
            **fields,
        }
        return json.loads(json.dumps(agent))  # type: ignore[no-any-return]


_BASES: Mapping[str, int] = {
    "native": 1000,
    "text": 2000,
    "hooked": 3000,
    "guarded": 4000,
    "described": 5000,
    "public": 6000,
    "handed": 7000,
    "joined": 9000,
}


@asynccontextmanager
async def run_attacked_daemon(
    folder: Path, python: str = sys.executable, start: StartDaemon | None = None
) -> AsyncIterator[AttackWorld]:
    """Run a daemon and its servers in ``folder``, which exists and is empty, with a Python.

    ``start`` starts the daemon; by default it is executed.
    """
    start = start or partial(execute_daemon, python=python)
    user = [f"user/{path}" for path in (*STARTING, *DOCUMENTS, *KEYS)]
    for name in ("home", "home/hooks", "outside", *user):
        (folder / name).mkdir(mode=0o700, parents=True)
    async with RecordingBot() as bot, ObedientModel() as model:
        world = AttackWorld(folder, bot, model, python)
        world.api_token = TokenFile(world.settings.paths.api_token).make_token()
        (world.home / "agents.json").write_text(json.dumps(world.build_agents_file()), "utf-8")
        write_private(world.settings.paths.keys, f"ANTHROPIC_API_KEY={KEY}\n".encode())
        (world.home / "hooks" / "probe.py").write_text(build_hook(), "utf-8")
        process = await start(world.build_environ(), world.home, folder / "log")
        try:
            world.process = process
            await wait_until_connected(process, world.settings, folder / "log", READY_WITHIN)
            with closing(_open_journal(world.settings)) as world.journal:
                yield world
        finally:
            with anyio.CancelScope(shield=True):
                await stop_child(process, READY_WITHIN)


def _open_journal(settings: Settings) -> apsw.Connection:
    db = apsw.Connection(str(settings.paths.journal), flags=apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(1000)  # milliseconds
    return db
