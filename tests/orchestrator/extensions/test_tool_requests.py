"""Natural requests reach every built-in tool, offered at once or found by the model."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from fakes.agents_file import WORK, parsed
from fakes.scripted import MemoryHost, ScriptedModel, calls, says, turn_run
from fakes.tool_call import run

from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.db.database import Database
from orchestrator.tools.builtin.host_tool import ToolContext
from orchestrator.tools.builtin.tool_finder import find_tools
from orchestrator.tools.host_tools import list_offered_host_tools, list_own_tools
from thinker.agent import Agent
from thinker.models.base import ModelRequest, ModelResponse
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import JsonObject, ToolCall, ToolResult, ToolSpec
from thinker.protocol.methods import TurnRun
from thinker.toolcalls.select import FINDER

ARGUMENTS: Mapping[str, JsonObject] = {  # of calls that need some
    "store_fact": {"fact": "User has a boat."},
    "search_memories": {"query": "boat"},
    "update_fact": {"id": 1},
    "delete_fact": {"id": 1},
    "search_conversations": {"query": "boat"},
    "read_conversation": {"around": "m1"},
    "update_profile": {"path": "persona.name", "value": "Max"},
    "read_skill": {"name": "boats"},
    "store_skill": {"name": "boats", "description": "d", "instructions": "i"},
    "update_skill": {"name": "boats"},
    "delete_skill": {"name": "boats"},
    "schedule_task": {"name": "n", "instructions": "i"},
    "cancel_task": {"task": "n"},
    "send_message": {"message": "Hi."},
    "send_telegram": {"message": "Hi."},
    "spawn_subagent": {"task": "Count."},
    "read_attachment": {"file": "file-123456789012"},
    "send_file": {"file": "file-123456789012"},
    "draw_picture": {"prompt": "A cat."},
}
IMAGES = {"provider": "openai", "model": "gpt-image-1"}  # so that the agent can draw
AT_ONCE = (
    ("get_time", "What time is it in Tokyo?"),
    ("get_time", "Wie spät ist es in Tokio?"),
    ("store_fact", "By the way, I am allergic to nuts."),
    ("store_fact", "Кстати, у меня аллергия на орехи."),  # noqa: RUF001 - as people write
    ("search_memories", "When is my wife's birthday?"),
    ("search_memories", "我太太的生日是哪天？"),  # noqa: RUF001 - as people write
    ("read_skill", "Help me with my tax return as usual."),
    ("schedule_task", "Remind me tomorrow at nine to call the doctor."),
    ("schedule_task", "Erinnere mich morgen um neun daran, den Arzt anzurufen."),
    ("schedule_task", "Напомни мне завтра в девять позвонить врачу."),
    ("schedule_task", "明天九点提醒我给医生打电话。"),
    ("list_facts", "What do you know about me? Show all facts."),
    ("update_fact", "That is wrong, I live in Bonn now. Please correct it."),
    ("delete_fact", "Forget that I have a boat."),
    ("search_conversations", "What did we talk about last week? We discussed boats."),
    ("read_conversation", "Read on in that conversation: what was said before it?"),
    ("get_profile", "Show me my profile."),
    ("update_profile", "From now on your name is Max, and call me boss."),
    ("list_skills", "Which skills do you have?"),
    ("store_skill", "Make a skill of these steps for my weekly shopping."),
    ("update_skill", "Change the skill for shopping: add milk."),
    ("delete_skill", "Delete the shopping skill."),
    ("list_tasks", "Which reminders do I have?"),
    ("cancel_task", "Cancel the reminder for the doctor."),
    ("send_message", "Send me the first half now, the rest later."),
    ("send_telegram", "Send it to my Telegram as well."),
    ("spawn_subagent", "Let a subagent compare the three offers."),
    ("list_files", "Which pictures did I give you?"),
    ("read_attachment", "What does the attached contract say at its end?"),
    ("send_file", "Send me the chart as a picture."),
    ("draw_picture", "Draw me a cat on the moon."),
)
OWN = list_own_tools()
FOUND = (
    ("list_facts", "Zeig mir alles, was du über mich weißt."),
    ("update_fact", "Нет, я теперь живу в Бонне."),
    ("delete_fact", "忘记我有一条船。"),
    ("search_conversations", "Worüber haben wir letzte Woche gesprochen?"),
    ("read_conversation", "Was stand in dem Gespräch davor?"),
    ("get_profile", "你有我的哪些联系方式？"),  # noqa: RUF001 - as people write
    ("update_profile", "Du heißt ab jetzt Max."),
    ("list_skills", "Что ты умеешь?"),
    ("store_skill", "Merk dir diese Schritte für den Einkauf."),
    ("update_skill", "Beim Einkauf soll auch Milch dabei sein."),
    ("delete_skill", "不再需要购物流程了。"),
    ("list_tasks", "Woran wirst du mich noch erinnern?"),
    ("cancel_task", "Больше не напоминай мне о враче."),  # noqa: RUF001 - as people write
    ("send_message", "先发给我一半。"),
    ("send_telegram", "Schreib mir das auch aufs Handy."),
    ("list_files", "Was habe ich dir alles geschickt?"),
    ("read_attachment", "合同最后写了什么？"),  # noqa: RUF001 - as people write
    ("send_file", "Пришли мне график."),
    ("spawn_subagent", "Сравни три предложения, а мы пока продолжим."),  # noqa: RUF001 - as people write
)


def agent(**fields: object) -> AgentDefinition:
    """An agent of agents.json."""
    (found,) = parsed({**WORK, **fields}).file.agents
    return found


class Asked:
    """A turn of an agent with its built-in tools, whose model wants one of them."""

    def __init__(self, wanted: str, context: ToolContext, db: Database) -> None:
        self._wanted, self._context, self._db = wanted, context, db
        self.words = wanted

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Call the tool if it is offered; look for it once if it is not."""
        names = {tool.name for tool in request.tools}
        last = request.messages[-1]
        if isinstance(last, ToolResult) and last.name == self._wanted:
            return says("Done.")
        if self._wanted in names:
            return calls(
                ToolCall(id="b", name=self._wanted, arguments=ARGUMENTS.get(self._wanted, {}))
            )
        assert FINDER in names
        assert not isinstance(last, ToolResult), "it was not found"
        return calls(ToolCall(id="a", name=FINDER, arguments={"names": self.words}))

    async def called(self, text: str, tools: tuple[ToolSpec, ...]) -> list[str]:
        """Run a turn about a text; return the tools that ran."""

        async def find(arguments: JsonObject) -> str:
            return run(find_tools, self._db, replace(self._context, offered=tools), **arguments)

        model, host = ScriptedModel(*[self.answer] * 4), MemoryHost({FINDER: find})
        turn: TurnRun = turn_run(text, *tools)
        result = await Agent(ThinkerSettings(), model).run_turn(turn, host)
        assert result.text == "Done."
        assert all(planned.rejected is None for planned in host.planned.values())
        return [host.planned[seq].name for seq in host.ran]


def offered(definition: AgentDefinition) -> tuple[ToolSpec, ...]:
    """The tools that an agent is offered."""
    return list_offered_host_tools(OWN, definition)


@pytest.mark.parametrize(("tool", "text"), AT_ONCE)
async def test_natural_request_reaches_its_tool_at_once(
    tool: str, text: str, db: Database, context: ToolContext
) -> None:
    """What is used most in any language, the rest by words of the request."""
    able = agent(images=IMAGES)
    assert await Asked(tool, context, db).called(text, offered(able)) == [tool]


@pytest.mark.parametrize(("tool", "text"), FOUND)
async def test_request_in_any_words_reaches_its_tool_by_the_finder(
    tool: str, text: str, db: Database, context: ToolContext
) -> None:
    """The model sees all names, and has the tool in the next step."""
    assert await Asked(tool, context, db).called(text, offered(agent())) == [
        FINDER,
        tool,
    ]


def test_every_built_in_tool_is_asked_for() -> None:
    """A new tool needs a request that reaches it; the subagents' own tool has its prompt."""
    asked = {tool for tool, _ in (*AT_ONCE, *FOUND)}
    assert asked == OWN.keys() - {FINDER, "notify_parent"}
    on_demand = {name for name, tool in OWN.items() if tool.spec.keywords}
    assert {tool for tool, _ in FOUND} == on_demand


@pytest.mark.parametrize("words", ["delete remembered facts", "forgetting", " delete_fact, gone "])
async def test_tool_is_found_by_words_as_well(
    words: str, db: Database, context: ToolContext
) -> None:
    """Of its name and description, also inflected ones."""
    asked = Asked("delete_fact", context, db)
    asked.words = words
    assert await asked.called("忘记我有一条船。", offered(agent())) == [
        FINDER,
        "delete_fact",
    ]


async def test_tools_that_the_agents_list_names_are_offered_at_once(
    db: Database, context: ToolContext
) -> None:
    """A pattern leaves them on demand; without the finder nothing is."""
    named = offered(agent(allowedTools=["find_tools", "delete_fact", "update_*"]))
    assert await Asked("delete_fact", context, db).called("hi", named) == ["delete_fact"]
    assert await Asked("update_fact", context, db).called("hi", named) == [FINDER, "update_fact"]
    without = offered(agent(deniedTools=[FINDER]))
    assert await Asked("delete_fact", context, db).called("hi", without) == ["delete_fact"]
