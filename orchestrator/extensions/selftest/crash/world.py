"""The outside world: people, Telegram and the model, which survive the daemon's deaths."""

import re
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from orchestrator.extensions.selftest.crash.bot_world import RefusedError
from orchestrator.extensions.selftest.crash.fake_model import ScriptedModel
from orchestrator.extensions.selftest.crash.fake_telegram import PREVIEW_MARK, BotApiServer
from orchestrator.extensions.selftest.crash.ledger import Ledger
from orchestrator.extensions.selftest.crash.pairing_operator import PairingOperator
from orchestrator.extensions.selftest.crash.scenario import (
    MENTION,
    OPERATORS,
    SERVER,
    STRANGERS,
    Fault,
    Scenario,
    Script,
    select_sent_scripts,
)
from orchestrator.testing.loopback import ForeignJson

TOKEN = "1000:selftest"  # noqa: S105 - this bot exists in this process only
QUESTION = re.compile(r'"name": "(?P<script>\w+)\..*\n/approve (?P<code>\w+)', re.DOTALL)
PREVIEW_WITHIN = 2.0  # seconds in which the daemon shows the first piece of a streamed answer
STOPPED_WITHIN = 20.0  # seconds in which a turn ends that its sender stops


class LedgerBot(BotApiServer):
    """A Bot API that records in the ledger what it shows and which updates are confirmed.

    ``on_text`` is called with each shown text, its chat and message id. ``faults`` apply to the
    next messages that are sent to each chat.
    """

    def __init__(self, ledger: Ledger, on_text: Callable[[str, int, int], None]) -> None:
        super().__init__(TOKEN, MENTION.removeprefix("@"))
        self._events = ledger
        self._on_text = on_text
        self._confirmed = 0
        self.faults: defaultdict[int, deque[Fault]] = defaultdict(deque)

    async def _send_message(self, params: ForeignJson) -> object:
        faults = self.faults[int(params["chat_id"])]
        fault = faults.popleft() if faults else None
        if fault == "refused":
            raise RefusedError(429, "Too Many Requests: retry after 1", retry_after=1)
        sent = None if fault == "failed" else await super()._send_message(params)
        if fault is not None:
            raise RefusedError(500, "Internal Server Error")
        return sent

    def _show_message(self, chat_id: int, message_id: int, text: str) -> ForeignJson:
        self._events.append("shown", text, message_id, chat_id)
        self._on_text(text, chat_id, message_id)
        return super()._show_message(chat_id, message_id, text)

    async def _get_updates(self, params: ForeignJson) -> object:
        offset = int(params.get("offset", 0))
        if offset > self._confirmed:
            self._confirmed = offset
            self._events.append("confirm", number=offset)
        return await super()._get_updates(params)

    async def wait_for_preview(self, chat_id: int) -> None:
        """Wait until a chat shows an unfinished message."""
        while not any(text.endswith(PREVIEW_MARK) for text in self.list_texts(chat_id)):
            await self.wait_for_change()


class World:
    """Everything outside the daemon, for one history. ``operators`` are the chats that decide."""

    operators: Sequence[int] = OPERATORS

    def __init__(
        self, scenario: Scenario, ledger: Ledger, operator: PairingOperator | None = None
    ) -> None:
        self.scenario = scenario
        self.ledger = ledger
        self._doorkeeper = operator
        self.bot = LedgerBot(ledger, self._on_shown_text)
        self.model = ScriptedModel(scenario, ledger, self._on_model_request, self._wait_for_preview)
        self._following: defaultdict[str, list[Script]] = defaultdict(list)
        for script in select_sent_scripts(scenario).values():
            self._following[script.follows].append(script)
        self._sent: set[str] = set()
        self._decided: set[str] = set()
        self._begun: set[str] = set()  # scripts whose model calls have begun

    @property
    def has_sent_all(self) -> bool:
        """Whether people have sent all messages, and strangers were admitted."""
        closed = self._doorkeeper is not None and self._doorkeeper.waiting
        return self._sent == set(select_sent_scripts(self.scenario)) and not closed

    def send_rest(self) -> None:
        """Send the messages whose preceding turn never reached the model."""
        for script in select_sent_scripts(self.scenario).values():
            self._send_script(script)

    def _on_model_request(self, name: str) -> None:
        if name not in self._begun:
            self._begun.add(name)
            self.bot.faults[self.scenario[name].chat].extend(self.scenario[name].faults)
        self.send_following(name)

    def send_following(self, name: str) -> None:
        """Send the messages that follow the script ``name``; those that follow none for ""."""
        for script in self._following[name]:
            self._send_script(script)

    def _send_script(self, script: Script) -> None:
        if script.name in self._sent:
            return
        self._sent.add(script.name)
        fields: ForeignJson = {}
        if script.is_direct:
            fields["entities"] = [{"type": "mention", "offset": 0, "length": len(MENTION)}]
        number = self.bot.send_user_message(script.chat, write_text(script), **fields)
        self.ledger.append("said", script.name, number, script.chat)

    def _on_shown_text(self, text: str, chat_id: int, message_id: int) -> None:
        """Let all operators decide at the same time when a chat first shows a question.

        Those in chats with the bot write a command, and a person in the question's chat presses
        a button twice; who is first depends on the question.
        """
        question = QUESTION.search(text)
        if question is None or question["code"] in self._decided:
            return
        self._decided.add(question["code"])
        decision = self.scenario[question["script"]].decision
        commands = [
            partial(self.bot.send_user_message, chat, f"/{decision} {question['code']}")
            for chat in self.operators
        ]
        data = self.bot.list_buttons(chat_id, message_id)[decision == "deny"][1]
        presses = [partial(self.bot.press_button, chat_id, data, message_id)] * 2
        pressed_first = int(question["code"], 16) % 2 == 0
        for act in [*presses, *commands] if pressed_first else [*commands, *presses]:
            self.ledger.append("decision", decision, act(), chat_id)

    async def _wait_for_preview(self, script: Script) -> None:
        if script.stopped:
            number = self.bot.send_user_message(script.chat, "/stop")
            self.ledger.append("decision", "stop", number, script.chat)
            await anyio.sleep(STOPPED_WITHIN)
        with anyio.move_on_after(PREVIEW_WITHIN):
            await self.bot.wait_for_preview(script.chat)


def write_text(script: Script) -> str:
    """Return the text of a script's message; in a group, it is addressed to the bot."""
    return f"{MENTION} {script.name}" if script.is_direct else script.name


@asynccontextmanager
async def open_world(scenario: Scenario, folder: Path) -> AsyncIterator[World]:
    """Open a world with its ledger in the home ``folder`` and send the first messages."""
    own = folder / "servers" / SERVER  # the only part of the home that the tool server reaches
    own.mkdir(mode=0o700, parents=True)
    strangers = {script.chat for script in scenario.values()} & {*STRANGERS}
    operator = PairingOperator(folder, strangers)
    world = World(scenario, Ledger(own / "ledger.jsonl"), operator)
    async with world.bot, world.model, anyio.create_task_group() as tasks:
        tasks.start_soon(operator.admit_waiting_chats)
        world.send_following("")
        yield world
        tasks.cancel_scope.cancel()
