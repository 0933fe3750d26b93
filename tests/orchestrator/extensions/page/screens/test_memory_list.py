"""Memory on the page."""

from pathlib import Path

from fakes.page import page_bench
from fakes.screens import NOW, html, request

from orchestrator.extensions.memory.memories import ProfileField, ProfilePage
from orchestrator.extensions.page.reads.fact_origins import MemoryPlaces
from orchestrator.extensions.page.screens import memory_list
from orchestrator.extensions.page.screens.memory_list import (
    FACT_FORGET,
    FACT_LIST,
    ListedFact,
    ListedFacts,
    ListedField,
    ListedFields,
)

FACT = ListedFact(
    id=5,
    fact="Likes tea \u202e<b>",
    category="preference",
    source="turn t1",
    created_at=NOW,
    agent_id="home",
    scope="telegram:9",
)
FIELD = ListedField(agent_id="home", scope="", path="persona.name", value="Ann", source="turn t1")


def test_facts_say_where_they_come_from() -> None:
    """With a link to the turn, and what is invisible made visible."""
    page = html(memory_list.render_memory(request(), ListedFacts(facts=(FACT,)), [FIELD]).content)
    assert "Likes tea ⟦U+202E⟧&lt;b&gt;" in page
    assert "/turns/t1" in page
    assert "persona.name" in page
    assert "/memory/5/forget" in page


def test_page_reads_the_profile_that_the_daemon_sends() -> None:
    """Both have models of their own, as neither imports the other."""
    field = ProfileField("home", "", "persona.name", "Ann", "turn t1", None)
    sent = ProfilePage(fields=(field,)).model_dump_json(by_alias=True)
    assert ListedFields.model_validate_json(sent).fields == (FIELD,)


def test_older_facts_have_a_link() -> None:
    """It keeps the filters."""
    found = ListedFacts(facts=(FACT,), more=True)
    page = html(memory_list.render_memory(request(agent="home", q="tea"), found, []).content)
    assert "agent=home&amp;q=tea&amp;before=5" in page


def test_only_an_edited_fact_can_be_put_back() -> None:
    """It still says where it was said, and who edited it."""
    found = ListedFacts(facts=(FACT,))
    assert "Undo the edit" not in html(memory_list.render_memory(request(), found, []).content)
    edited = FACT.model_copy(update={"source": "operator", "origin": "turn t1"})
    found = ListedFacts(facts=(edited,))
    page = html(memory_list.render_memory(request(), found, []).content)
    assert "Undo the edit" in page
    assert "/turns/t1" in page
    assert "edited by operator" in page


def test_agents_and_chats_are_chosen_from_lists() -> None:
    """An empty memory without a filter says so."""
    places = MemoryPlaces(("home",), ("telegram:9",))
    page = html(memory_list.render_memory(request(), ListedFacts(facts=()), [], places).content)
    assert '<option value="home">' in page
    assert '<option value="telegram:9">' in page
    assert "Nothing is remembered yet." in page
    page = html(memory_list.render_memory(request(q="x"), ListedFacts(facts=()), []).content)
    assert "Nothing is remembered that fits." in page


async def test_forgetting_needs_the_word(tmp_path: Path) -> None:
    """Typed by a person who means it, below the fact itself."""
    async with page_bench(tmp_path) as bench:

        async def list_facts(params: object) -> ListedFacts:
            del params
            return ListedFacts(facts=(FACT,))

        bench.answers[FACT_LIST] = list_facts
        person = await bench.login()
        asked = (await person.get("/memory/5/forget")).text
        assert "Type the word" in asked
        assert "Likes tea" in asked
        wrong = await person.post("/memory/5/forget", {"typed": "yes"})
        assert "nothing else" in wrong.text
        assert FACT_FORGET not in [method for _, method, _ in bench.acts]
        done = await person.post("/memory/5/forget", {"typed": "Forget", "once": "form-0002"})
        assert done.headers["location"] == "/memory"
        assert ("web:ann", FACT_FORGET, {"id": 5}) in bench.acts
        assert "no such fact" in (await person.get("/memory/x/forget")).text


async def test_filters_reach_the_search(tmp_path: Path) -> None:
    """An agent, a chat, and words."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        await person.get("/memory?agent=home&q=tea&before=7")
        asked = [params for _, method, params in bench.acts if method == FACT_LIST]
        assert isinstance(asked[0], dict)
        assert asked[0] | {"agent": "home", "text": "tea", "before": 7} == asked[0]
