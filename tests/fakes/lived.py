"""A chat of an agent with rows in every table of the journal, made by the journal's functions.

Each text, turn and file handle contains ``mark``, by which a test finds what is left of it.
"""

from base64 import b64encode
from dataclasses import dataclass

from fakes.journal import call, job
from fakes.statements import said_at, store_fact

from orchestrator.channel_api import Attachment, InboundMessage
from orchestrator.extensions.http_api import api_conversations, new_requests, stored_requests
from orchestrator.extensions.http_api.new_requests import NewRequest
from orchestrator.extensions.memory import (
    due_sessions,
    embedded_facts,
    fact_changes,
    message_index,
    message_vectors,
    profile_changes,
)
from orchestrator.extensions.memory.due_sessions import CompactionInput, MessageRange
from orchestrator.extensions.memory.memory_requests import ExtractedFact, ExtractedNote
from orchestrator.extensions.schedules import task_firing
from orchestrator.extensions.skills import playbook_changes
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fact_cards, playbooks
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.playbooks import StoredPlaybook
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.turns import (
    approvals,
    attachments,
    chat_moves,
    degradations,
    handoffs,
    inbox,
    outbox,
    pauses,
    questions,
    sessions,
    steps,
    subagents,
    turns,
    usage,
)
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address, OutboxPart
from orchestrator.journal.turns.prompt_records import PromptSources
from orchestrator.journal.turns.subagents import SubagentSpec
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from orchestrator.schedules.specs import Notify, TaskSpec
from thinker.protocol.degradations import Degradation
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    LayerRecord,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from thinker.protocol.methods import PlannedCall, StepCommit
from thinker.protocol.prompt_record import PromptRecord
from thinker.protocol.vectors import pack_vector

PNG = b"\x89PNG\r\n\x1a\n"


def embed_mark(mark: str) -> bytes:
    """The vector of a life's messages, whose bytes stand nowhere else."""
    return pack_vector([ord(letter) for letter in mark * 8])


@dataclass(frozen=True)
class Life:
    """The history of the agent ``agent`` in the Telegram chat ``chat``."""

    db: Database
    agent: str
    chat: str
    mark: str

    @property
    def memory(self) -> MemoryScope:
        """What the agent remembers, for all its chats."""
        return MemoryScope.for_whole_agent(self.agent)

    @property
    def address(self) -> Address:
        """The chat."""
        return Address("telegram", "1", self.chat)

    def live(self) -> None:
        """Create every kind of row once, and end every turn."""
        with job(self.db):
            pairing.request_pairing(self.db, self.address, self.mark, f"code {self.mark}", 0)
            pairing.approve(self.db, f"code {self.mark}", 1)
            chat_moves.move_chat(self.db, "telegram", "1", self.chat, f"-100{self.chat}", 0)
            self._stranger()
            turn = self._turn("1", Attachment(f"file-{self.mark}", f"photo of {self.mark}"))
            self._calls(turn)
            self._learned(turn)
            self._subagent(turn)
            self._end(turn)
            self._tried(turn)
            self._summary(turn)
            self._handoff()
            self._task()
            self._dead()
            self._request()
            self._paused()
            outbox.add_notice(self.db, self.address, f"Agent '{self.agent}' says {self.mark}.", 9)
            self._deliver()
            while message_index.index_new_messages(self.db):
                pass
            self._embedded()

    def _tried(self, turn: Turn) -> None:
        """Keep the turn as a test, and try it with something that quotes it changed."""
        trial = self.db.execute(
            "INSERT INTO trial(kind, agent_id, change, by_user, state, made_at)"
            " VALUES('replay', ?, ?, 'operator', 'done', 5) RETURNING id",
            (self.agent, f"no {self.mark}"),
        ).get
        self.db.execute(
            "INSERT INTO trial_turn(trial_id, turn_id, nth, state, result) VALUES(?,?,1,'done',?)",
            (trial, turn.id, f"tried {self.mark}"),
        )
        self.db.execute(
            "INSERT INTO saved_turn VALUES(?,?,'same calls','operator',5)", (self.mark, turn.id)
        )

    def _embedded(self) -> None:
        """Give each message a vector of a model with a name of its own."""
        new = message_vectors.list_new_messages(self.db, self.agent, self.mark, 100)
        vectors = dict.fromkeys((number for number, _ in new), embed_mark(self.mark))
        message_vectors.store_vectors(self.db, self.agent, self.mark, vectors)

    def _stranger(self) -> None:
        """Leave a message that waits for an approval."""
        message = InboundMessage(
            channel="telegram",
            bot_id="1",
            chat_id=self.chat,
            message_id=f"{self.mark}-0",
            sender_id=self.chat,
            text=f"I was {self.mark}",
        )
        inbox.ingest(self.db, [Arrival(message, "not paired yet", held=True)], None, 1)

    def _turn(self, number: str, *pictures: Attachment) -> Turn:
        message = InboundMessage(
            channel="telegram",
            bot_id="1",
            chat_id=self.chat,
            message_id=f"{self.mark}-{number}",
            sender_id=self.chat,
            text=f"I am {self.mark}",
            sender_name=self.mark,
            attachments=pictures,
        )
        inbox.ingest(self.db, [Arrival(message)], None, 1)
        turn = self._admitted(inbox.build_chat_key("telegram", "1", self.chat, None), number)
        for item in attachments.list_unread_files(self.db, turn.id):
            attachments.store_fetched_file(self.db, item, PNG + self.mark.encode(), 2)
        return turn

    def _admitted(self, queue: str, number: str, recipe: str = "interactive") -> Turn:
        row = inbox.find_oldest_new(self.db, queue)
        assert row is not None
        admission = TurnAdmission(f"turn-{self.mark}-{number}", self.agent, 1, 15, "1", recipe)
        turn = turns.admit_message(self.db, row, admission, 2)
        assert turn is not None
        return turn

    def _calls(self, turn: Turn) -> None:
        """Make two calls that are approved and return pictures."""
        calls = [ToolCall(id=f"c{n}-{self.mark}", name="pay") for n in range(2)]
        commit = StepCommit(
            turn_id=turn.id,
            response=AssistantMessage(content=self.mark, tool_calls=tuple(calls)),
            calls=tuple(
                PlannedCall(id=made.id, name="pay", arguments={"for": self.mark}) for made in calls
            ),
            model="demo/demo",
            prompt=PromptRecord(layers=(LayerRecord(name="base", text=self.mark),)),
        )
        planned = steps.plan(self.db, commit, {}, 1, 3, PromptSources({"name": self.mark}, ()))
        lacking = Degradation(kind="tool", subject=self.mark, what="left out")
        degradations.record_degradations(self.db, turn, [lacking], 1, 3)
        usage.record_usage(self.db, self.agent, turn.id, "demo", Usage(prompt=5), None, 3)
        for seq in planned.call_seqs:
            made = call(self.db, turn.id, seq)
            code = f"{self.mark}-{seq}"
            approvals.request_approval(self.db, made, self.mark, code, 3)
            questions.decide_question(self.db, code, f"telegram:{self.chat}", 4, granted=True)
            approvals.use_approval(self.db, made, 5)
            steps.mark_intent(self.db, turn.id, seq, 1, 5)
            data = b64encode(PNG + f"{self.mark} {seq}".encode()).decode()
            picture = Image(media_type="image/png", data=data)
            result = ToolResult(
                call_id=made.call_id, name="pay", content=self.mark, images=(picture,)
            )
            steps.finish(self.db, made, result, 6)

        self.db.execute(
            "INSERT INTO standing_approval(agent_id, tool, chat_key, arguments, by_user, made_at,"
            " ends_at) VALUES(?,?,?,?,?,3,9)",
            (
                self.agent,
                "pay",
                turn.chat_key,
                f'{{"for": {{"is": "{self.mark}"}}}}',
                f"telegram:{self.chat}",
            ),
        )

    def _learned(self, turn: Turn) -> None:
        source = f"turn {turn.id}"
        store_fact(self.db, self.memory, f"Likes {self.mark}", "preference", source, 6)
        gone = store_fact(self.db, self.memory, f"Hates {self.mark}", "preference", source, 6)
        fact_changes.forget_fact(self.db, self.memory, gone.id, "agent", 6, for_good=True)
        seen = MemoryScope(self.agent, turn.scope, joined=True, shared=True)
        assert fact_cards.load_card(self.db, seen, turn.session_id, 6, 600).known
        vector = b"\0\0\x80\x3f" * 8
        lacking = embedded_facts.list_facts_without_vector(self.db, self.agent, 1)
        embedded_facts.store_vectors(
            self.db, self.agent, "m", [(*fact, vector) for fact in lacking]
        )
        profile_changes.update_profile(
            self.db, self.memory, f"pets.{self.mark}", self.mark, source, 6
        )
        playbooks.seed_playbooks(self.db, self.agent, 6)
        playbook = StoredPlaybook(
            id=0,
            name=f"about-{self.mark}",
            description=self.mark,
            instructions=self.mark,
            keywords=(self.mark,),
            priority=1,
            required_tools=(),
            enabled=True,
            source=source,
            created_at=6,
        )
        playbook_changes.add_playbook(self.db, self.memory, playbook, 6)

    def _subagent(self, turn: Turn) -> None:
        commit = StepCommit(
            turn_id=turn.id,
            response=AssistantMessage(tool_calls=(ToolCall(id="s", name="spawn_subagent"),)),
            calls=(PlannedCall(id="s", name="spawn_subagent", arguments={"task": self.mark}),),
            model="demo/demo",
        )
        (seq,) = steps.plan(self.db, commit, {}, 1, 6).call_seqs
        made = call(self.db, turn.id, seq)
        steps.mark_intent(self.db, turn.id, seq, 1, 6)
        name = subagents.create(self.db, made, self.agent, SubagentSpec(), 6)
        subagents.begin_run(self.db, made, name, self.address, self.mark, 6, wait=True)
        work = self._admitted(subagents.QUEUE + name, "work", "subagent")
        self._end(work)
        subagents.end_run(self.db, work.id, self.mark, 7, failed=False)
        result = ToolResult(call_id="s", name="spawn_subagent", content=self.mark)
        steps.finish(self.db, made, result, 7)

    def _end(self, turn: Turn) -> None:
        assert subagents.list_unconfirmed_tools_of_runs(self.db, turn.id) == []
        turns.end_with_reply(
            self.db, turn, [OutboxPart(f"answer of {self.mark}")], "direct", ("done", None), 7
        )

    def _summary(self, turn: Turn) -> None:
        said = said_at(8, UserMessage(content=self.mark))
        older = CompactionInput(turn.session_id, self.agent, 0, 1, said, None)
        assert due_sessions.store_summary(self.db, older, f"summary of {self.mark}")
        stretch = MessageRange(turn.session_id, self.memory, 0, 1, (turn.id,), said)
        fact = ExtractedFact(fact=f"Was {self.mark}", category="background", confidence=1)
        notes = [ExtractedNote(text=f"Spoke of {self.mark}")]
        learned = due_sessions.store_extracted_facts(self.db, stretch, [fact], 8, notes)
        assert (len(learned.new), len(learned.notes)) == (1, 1)

    def _handoff(self) -> None:
        turn = self._turn("2")
        handoffs.hand_over_turn(self.db, turn.id, self.agent, 8)
        self._end(turn)

    def _task(self) -> None:
        spec = TaskSpec(
            name=f"task of {self.mark}",
            instructions=self.mark,
            trigger={"interval_minutes": 5},
            timezone="UTC",
            notify=Notify(channel="telegram", chat_id=self.chat),
        )
        task = tasks.add_task(self.db, self.memory, spec, 8)
        assert task_firing.fire_task(self.db, task.id, 9)
        tasks.disable_task(self.db, task.id, 9)
        self._end(self._admitted(f"{task_runs.QUEUE}{self.agent}/{task.id}", "task", "task"))
        task_firing.settle_ended_runs(self.db, 10)

    def _dead(self) -> None:
        turn = self._turn("3")
        turns.end_as_dead_letter(self.db, turn, "died thrice", f"Sorry, {self.mark}", 9)

    def _request(self) -> None:
        body = stored_requests.Body(messages=(UserMessage(content=self.mark),))
        made = f"conv_{self.mark}"
        api_conversations.create_conversation(self.db, made, {"about": self.mark}, 9)
        api_conversations.add_items(self.db, made, [UserMessage(content=self.mark)])
        whole = NewRequest(f"req-{self.mark}", self.agent, body, "digest", self.mark)
        new_requests.store_request(self.db, whole._replace(conversation=made), 9)
        api_conversations.add_items(self.db, made, [UserMessage(content=f"more {self.mark}")])
        self._end(self._admitted(f"api/{self.agent}/{made}/{self.mark}", "request"))

    def _paused(self) -> None:
        pauses.begin_pause(self.db, self.agent, "operator", "enough", "operator", 9)
        pause = pauses.find_pause(self.db, self.agent)
        assert pause is not None
        pauses.send_pause_notice(self.db, pause, self.address, f"paused, {self.mark}", 9)
        pauses.end_pause(self.db, self.agent, "operator", 10)

    def _deliver(self) -> None:
        """Deliver the messages of every channel."""
        assert subagents.count_open_runs(self.db, self.agent) == 0
        assert subagents.list_living_subagents(self.db, self.agent, self.address.chat_key) == {}
        assert outbox.list_notices_to(self.db, self.address.chat_key, "1") == ()
        assert sessions.find_known_address(self.db, self.agent, "telegram", self.chat) is not None
        for channel in ("telegram", "api"):
            while due := outbox.list_due_rows(self.db, channel):
                for row in due:
                    outbox.mark_sending(self.db, row.id, "sending", 11)
                    outbox.mark_delivered(self.db, row, f"sent-{self.mark}", 11)
