"""What advice on savings is computed from, in a journal."""

from pathlib import Path

from fakes.journal import CLASSES, booted, job, open_turn, step

from orchestrator.extensions.spending_advice.call_facts import DAY, load_agent_use
from orchestrator.journal.turns import steps, usage
from orchestrator.journal.turns.prompt_records import PromptSources
from thinker.protocol.messages import ToolSpec, Usage
from thinker.protocol.prompt_record import PromptRecord

NOW = 100 * DAY
TOOLS = tuple(
    ToolSpec(name=name, description="x" * 400, parameters={}) for name in ("read", "pay", "hidden")
)


def test_calls_of_turns_are_read_with_the_tools_that_they_never_called(tmp_path: Path) -> None:
    """Older calls, those without a price, and work outside of turns do not count."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        prompt = PromptRecord(layers=(), tools=("read", "pay"))
        with job(db):
            commit = step(turn.id, "read").model_copy(update={"prompt": prompt})
            steps.plan(db, commit, CLASSES, 1, NOW, PromptSources(tools=TOOLS))
            for at, usd in ((NOW - 40 * DAY, 1.0), (NOW - 2, 0.25), (NOW - 1, None), (NOW, 0.5)):
                used = Usage(prompt=100, cached=40, completion=5)
                usage.record_usage(db, "work", turn.id, "a/b", used, usd, at)
            usage.record_usage(db, "work", "extraction/1", "a/b", Usage(prompt=9), 0.125, NOW)
        found = load_agent_use(db, "work", NOW)
        assert found.month_usd == 0.875
        assert [(call.usd, call.prompt, call.cached) for call in found.calls] == [
            (0.25, 100, 40),
            (0.5, 100, 40),
        ]
        assert {call.chat_key for call in found.calls} == {turn.chat_key}
        assert list(found.unused) == ["pay"]
        assert 100 <= found.unused["pay"] <= 150
        assert load_agent_use(db, "home", NOW).unused == {}
