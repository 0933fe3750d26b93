"""Spoken answers: made once, sent after their text, and no promise less than other messages'."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from fakes.background_work import BackgroundBench, background
from fakes.channel import FakeChannel
from fakes.journal import job, open_turn
from fakes.openai_api import recording, said
from fakes.time_limit import time_limit
from fakes.tool_call import plain

from orchestrator.channel_api import SendOutcome
from orchestrator.extensions.media.answer_speech import TRIES, AnswerSpeech
from orchestrator.extensions.media.media_calls import MediaCalls
from orchestrator.extensions.media.sound_requests import AUDIO_SPEAK, SpeechRequest, SpeechResult
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.outbound.delivery import Delivery
from thinker.protocol.messages import Usage
from thinker.protocol.peer import FAILED, RpcError

SPEAK = {"speak": {"model": "mouth", "voice": "v", "provider": "openai"}}
ROWS = "SELECT state, media_id IS NOT NULL FROM outbox ORDER BY id"
KEPT = ("delivered", 1)
Pause = Callable[[float], Awaitable[None]]


def spoken(request: SpeechRequest) -> SpeechResult:
    """What the model answers."""
    sound = recording(request.text)
    return SpeechResult(model="openai/mouth", usage=Usage(), media_type="audio/ogg", data=sound)


def broken(_: SpeechRequest) -> SpeechResult:
    """How it refuses."""
    raise RpcError(FAILED, "openai answered 500")


async def _no_pause(seconds: float) -> None:
    """Wait for nothing."""
    del seconds


@dataclass
class SpeakingBench:
    """An answer in chat 7 that is to be spoken, and deliveries that may die."""

    bench: BackgroundBench
    channel: FakeChannel = field(default_factory=FakeChannel)
    mode: str = "direct"

    def answer(self, words: str = "Good morning.") -> None:
        """End a turn with a text and its speech (T6)."""
        db = self.bench.db
        turn = open_turn(db)
        with job(db):
            voice = OutboxPart(words, markdown=False, file_name="answer", voice=True)
            parts = [OutboxPart("**Good** morning."), voice]
            turns.end_with_reply(db, turn, parts, self.mode, ("done", None), 0)

    @asynccontextmanager
    async def delivering(self, pause: Pause) -> AsyncIterator[Delivery]:
        """A daemon's delivery until it is killed; what it left is adopted by the next (T0)."""
        bench, clock = self.bench, lambda: self.bench.now
        media = MediaCalls(bench.calls, plain)
        speech = AnswerSpeech(media, bench._agents, clock, pause)
        with job(bench.db):
            turns.boot(bench.db, bench.now)
        async with anyio.create_task_group() as tasks:
            adapters = {"telegram": self.channel}
            delivery = Delivery(bench.store, adapters, tasks, clock, speech.store_speech, 0.0)
            tasks.start_soon(delivery.run, "telegram")
            with time_limit():
                yield delivery
            tasks.cancel_scope.cancel()

    async def sent(self, pause: Pause = _no_pause) -> None:
        """Let one delivery send all it can."""
        async with self.delivering(pause) as delivery:
            await delivery.wait_idle()

    def rows(self) -> list[tuple[object, ...]]:
        """State of each row, and whether it has a file."""
        return self.bench.db.execute(ROWS).fetchall()

    @property
    def shown(self) -> list[str]:
        """What the chat has: texts, and what is said in voice messages."""
        return [
            part.text if part.file is None else f"({said(part.file.data)}){part.text}"
            for part in self.channel.sent
        ]


@asynccontextmanager
async def speaking(folder: Path) -> AsyncIterator[SpeakingBench]:
    """A bench whose agent speaks."""
    async with background(folder, voice=SPEAK) as bench:
        bench.serve(AUDIO_SPEAK, SpeechRequest, spoken)
        yield SpeakingBench(bench)


async def test_voice_follows_its_text(tmp_path: Path) -> None:
    """As a voice message, in the words that were stored; the journal keeps what was said."""
    async with speaking(tmp_path) as running:
        running.answer()
        await running.sent()
        assert running.shown == ["**Good** morning.", "(Good morning.)"]
        file = running.channel.sent[1].file
        assert file is not None
        assert (file.name, file.media_type, file.voice) == ("answer.ogg", "audio/ogg", True)
        assert running.rows() == [("delivered", 0), KEPT]
        told = outbox.list_texts_of_turn(running.bench.db, "t1")
        assert told == ("**Good** morning.", "answer.ogg")


async def test_answer_that_cannot_be_spoken_is_said_to_be(tmp_path: Path) -> None:
    """In a sentence behind the text."""
    async with speaking(tmp_path) as running:
        running.bench.serve(AUDIO_SPEAK, SpeechRequest, broken)
        running.answer()
        await running.sent()
        assert running.shown == [
            "**Good** morning.",
            "I could not speak this answer: openai answered 500.",
        ]
        assert running.rows() == [("delivered", 0), ("delivered", 0)]


async def test_chat_that_is_read_in_the_journal_gets_a_file(tmp_path: Path) -> None:
    """The text is there at once; the turn closes when its speech is, too."""
    async with speaking(tmp_path) as running:
        running.mode = outbox.STORED
        running.answer()
        assert running.rows() == [("delivered", 0), ("queued", 0)]
        assert running.bench.db.execute("SELECT state FROM turn").get == "replied"
        await running.sent()
        assert running.rows() == [("delivered", 0), KEPT]
        assert running.bench.db.execute("SELECT state FROM turn").get == "closed"


async def test_death_while_it_is_made_makes_it_again(tmp_path: Path) -> None:
    """The text is not sent again."""
    async with speaking(tmp_path) as running:
        bench = running.bench
        running.answer()
        bench.held = anyio.Event()
        async with running.delivering(_no_pause):
            await bench.until(lambda: len(bench.requests) == 1)
        bench.held = None
        assert running.rows() == [("delivered", 0), ("queued", 0)]
        await running.sent()
        assert running.shown == ["**Good** morning.", "(Good morning.)"]
        assert len(bench.requests) == 2


async def test_death_before_it_is_sent_makes_nothing_again(tmp_path: Path) -> None:
    """The sound is in the journal, and is sent once."""
    async with speaking(tmp_path) as running:
        running.answer()
        running.channel.outcomes.extend([None, 30.0])  # the platform wants nothing for a while
        async with running.delivering(_no_pause):
            await running.bench.until(lambda: running.channel.calls == ["send", "send"])
            await running.bench.until(lambda: running.rows()[1] == ("queued", 1))
        running.bench.now += 31_000
        await running.sent()
        assert running.shown == ["**Good** morning.", "(Good morning.)"]
        assert len(running.bench.requests) == 1


async def test_voice_that_may_have_arrived_is_not_repeated(tmp_path: Path) -> None:
    """As with every file."""
    async with speaking(tmp_path) as running:
        running.answer()
        running.channel.outcomes.extend([None, SendOutcome.UNKNOWN])
        await running.sent()
        await running.sent()
        assert running.rows() == [("delivered", 0), ("unknown", 1)]
        assert running.channel.calls == ["send", "send"]


async def test_process_that_cannot_run_is_tried_a_few_times(tmp_path: Path) -> None:
    """Then the chat goes on."""
    async with speaking(tmp_path) as running:
        pauses: list[float] = []

        async def pause(seconds: float) -> None:
            pauses.append(seconds)

        running.answer()
        running.bench.supervisor.slots.clear()
        await running.sent(pause)
        assert running.shown[1].endswith("the agent's process does not run.")
        assert len(pauses) == TRIES - 1


async def test_stop_of_the_daemon_leaves_it_to_the_next(tmp_path: Path) -> None:
    """No chat is told that it failed."""
    async with speaking(tmp_path) as running:
        running.answer()
        running.bench.supervisor.stopping = True
        await running.sent()
        assert running.rows() == [("delivered", 0), ("queued", 0)]
        running.bench.supervisor.stopping = False
        running.bench.now += 1000
        await running.sent()
        assert running.shown[1:] == ["(Good morning.)"]


@pytest.mark.parametrize("gone", [True, False], ids=["agent", "voice"])
async def test_agent_that_speaks_no_more_says_so(tmp_path: Path, *, gone: bool) -> None:
    """It was removed, or its voice was, while the answer waited."""
    async with speaking(tmp_path) as running:
        running.answer()
        bench = running.bench
        if gone:
            bench.file = bench.file.select_agents(())
        else:
            quiet = bench.agent.model_copy(update={"voice": None})
            bench.file = bench.file.replace_agent(quiet)
        await running.sent()
        assert running.shown[1].startswith("I could not speak this answer: the agent")
