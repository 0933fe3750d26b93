"""A trial of two turns, hostile in its texts, and the daemon's answers about it."""

from fakes.journal import job, open_turn, planned

from orchestrator.control.trials import (
    CheckVerdict,
    SavedSets,
    SavedTurn,
    TrialChange,
    TrialEstimate,
    TrialReport,
    TriedCall,
    TriedStep,
    TriedTurn,
    TurnRecord,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, prompt_records, steps, turns
from orchestrator.journal.turns.prompt_records import PromptSources, SentPrompt
from thinker.protocol.messages import LayerRecord, ToolResult
from thinker.protocol.prompt_record import PromptRecord

NOW = 1_774_000_000_000  # milliseconds
EVIL = '<script>alert(1)</script>\u202e" onload="x'
MAIL = TriedCall(name="send_mail", arguments={"to": "bob@example.org", "text": EVIL}, effect=True)
SEARCH = TriedCall(name="web_search", arguments={"q": "IC 5313 delay"}, result="12:40")
OPEN = TriedCall(name="get_weather", arguments={"at": "Ulm"}, key="get_weather-1", source="none")
RECORDED = TurnRecord(
    question="Is the train on time?",
    steps=(
        TriedStep(model="gpt-5-mini", calls=(SEARCH, MAIL), prompt=1402, completion=38, usd=0.0031),
        TriedStep(model="gpt-5-mini", text="It leaves at 12:40.", prompt=1490, completion=20),
    ),
    answer="The train leaves at 12:40.",
    usd=0.0112,
    ms=5600,
)
TRIED = TurnRecord(
    question=RECORDED.question,
    steps=(
        TriedStep(model="small", calls=(SEARCH,), prompt=1390, completion=41, exact=True),
        TriedStep(model="small", text=EVIL, prompt=1480, completion=30, differs="skills"),
    ),
    answer="The train leaves at 12:40. Shall I put it into the plan?",
    usd=0.0021,
    ms=1900,
)
RUN = TriedTurn(
    turn_id="t1",
    done=True,
    fidelity="same",
    reason="the prompt was changed",
    alike=False,
    effects=("send_mail was not called",),
    tried=TRIED,
    recorded=RECORDED,
    checks=(CheckVerdict(check="same calls", met=False, text="send_mail is missing"),),
)
STOPPED = TriedTurn(
    turn_id="t2",
    fidelity="stopped",
    reason="get_weather has no record",
    calls=("get_weather was called too",),
    tried=TurnRecord(question="Plan Friday", steps=(TriedStep(model="small", calls=(OPEN,)),)),
    recorded=TurnRecord(question="Plan Friday", steps=(TriedStep(model="gpt-5-mini"),)),
)
CHANGE = TrialChange(
    model="groq/small", files={"skills/plan/SKILL.md": "Plan."}, layers={"base": EVIL}
)
TRIAL = TrialReport(
    id=7,
    kind="replay",
    agent_id="home",
    state="stopped",
    change=CHANGE,
    by="web:ann",
    at=NOW,
    turns=(STOPPED, RUN),
    usd=0.0021,
    tokens=2940,
    limit_usd=0.05,
)
ESTIMATE = TrialEstimate(turns=1, calls=2, tokens=2900, low_usd=0.002, high_usd=0.006)
SETS = SavedSets(
    turns=(SavedTurn(set_name="daily", turn="t1", checks="same calls", question=EVIL, at=NOW),)
)


def ended_with_prompt(db: Database, turn_id: str = "t1") -> None:
    """A turn of the agent ``work`` that sent a mail, and whose prompt is recorded."""
    turn = open_turn(db, turn_id, EVIL)
    mail, _ = planned(db, turn_id, "send_mail", "web_search")
    with job(db):
        steps.mark_intent(db, turn_id, mail.seq, 1, 2)
        steps.finish(db, mail, ToolResult(call_id="c0", name="send_mail", content="sent"), 3)
        layers = (
            LayerRecord(name="base", text="You are <b>kind</b>.\r\nBe short."),
            LayerRecord(name="playbooks", text="### Playbook: plan\nPlan.", volatile=True),
        )
        record = PromptRecord(layers=layers, stable="s", tools=("send_mail", "web_search"))
        sent = SentPrompt(turn_id, 1, turn.session_id, 0)
        prompt_records.record_prompt(db, sent, record, PromptSources(agent_id="work"))
    with job(db):
        turns.end_with_reply(db, turn, [outbox.OutboxPart("At noon.")], "direct", ("done", None), 5)
