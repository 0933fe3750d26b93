"""What the forms offer for their fields."""

import json
from pathlib import Path

from fakes.edited_page import edited_page

from orchestrator.extensions.page.daemon_side.page_protocol import (
    TOOL_RULES,
    ListedTool,
    ToolRuleTable,
)
from orchestrator.extensions.page.screens.field_offers import MAX_LINKS, MAX_OFFERED
from orchestrator.extensions.page.setup_answers import (
    PEOPLE_LIST,
    SETUP_OFFERS,
    ListedPeople,
    ListedPerson,
    LocalModels,
    ModelOffers,
    ModelPrice,
    ProviderChoice,
)

OFFERS = ModelOffers(
    local=(LocalModels(provider="ollama", name="Ollama", address="http://x", models=("qwen",)),),
    providers=(
        ProviderChoice(provider="groq", title="Groq", key_set=False),
        ProviderChoice(
            provider="openai", title="OpenAI", key_set=True, models=(ModelPrice(id="gpt-5"),)
        ),
    ),
)
TOOL = ListedTool(name="wiki_add", server="wiki", description="", parameters={}, effect="read_only")


async def test_agent_is_chosen_from_what_is_known(tmp_path: Path) -> None:
    """Providers that work come first; models and tools are offered, and another agent's model."""
    async with edited_page(tmp_path) as page:

        async def offer(_: object) -> ModelOffers:
            return OFFERS

        async def list_tools(_: object) -> ToolRuleTable:
            return ToolRuleTable(tools=(TOOL,), rules=())

        page.bench.answers |= {SETUP_OFFERS: offer, TOOL_RULES: list_tools}
        shown = await page.open("/settings/form?at=agents&new=1")
        assert "OpenAI: its key is set" in shown
        assert shown.index('<option value="openai"') < shown.index('<option value="anthropic"')
        assert '<option value="gpt-5" label="OpenAI">' in shown
        assert "Names that are known: 1" in shown
        assert "wiki_add" in shown
        assert "field.llmProvider=demo" in shown


async def test_own_provider_of_the_file_stays_chosen(tmp_path: Path) -> None:
    """It is no choice of the schema, and is not lost by opening the form."""
    agents = (
        '{"providers": {"mine": {"baseUrl": "http://127.0.0.1:1/v1", "like": "openai"}},'
        ' "agents": [{"agentId": "a", "llmProvider": "mine", "model": "m"}]}'
    )
    async with edited_page(tmp_path, agents) as page:

        async def offer(_: object) -> ModelOffers:
            return OFFERS

        page.bench.answers |= {SETUP_OFFERS: offer}
        shown = await page.open("/settings/form?at=agents/0")
        assert '<option value="mine" selected>' in shown


async def test_binding_offers_chats_by_the_names_of_people(tmp_path: Path) -> None:
    """And the agents; without the extension that knows them, the form is as plain as before."""
    path = "/settings/form?at=bindings&new=1"
    async with edited_page(tmp_path) as page:
        assert "Agent that answers" in await page.open(path)

        async def list_people(_: object) -> ListedPeople:
            ada = ListedPerson(channel="telegram", chat_id="42", name="Ada", state="paired")
            return ListedPeople(people=(ada,))

        page.bench.answers |= {PEOPLE_LIST: list_people}
        shown = await page.open(path)
        assert '<option value="42" label="Ada, telegram">' in shown
        assert '<option value="home">' in shown


async def test_of_many_agents_a_few_are_offered(tmp_path: Path) -> None:
    """Ten thousand links or names would be a page that no browser shows soon."""
    count = MAX_OFFERED + 10
    agents = [{"agentId": f"agent-{number}", "model": "m"} for number in range(count)]
    async with edited_page(tmp_path, json.dumps({"agents": agents})) as page:
        copies = await page.open("/settings/form?at=agents&new=1")
        assert copies.count("field.model=m") == MAX_LINKS
        assert f"and {count - MAX_LINKS} more" in copies
        names = await page.open("/settings/form?at=bindings&new=1")
        assert names.count('<option value="agent-') == MAX_OFFERED
        overview = await page.open("/settings")
        assert overview.count('href="/agents/agent-') == MAX_LINKS
        assert f'<a href="/agents" class="chip">and {count - MAX_LINKS} more</a>' in overview
