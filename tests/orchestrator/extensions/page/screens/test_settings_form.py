"""Forms for parts of agents.json: from what people write to what is in force."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from fakes.edited_page import EditedPage, edited_page
from pydantic import JsonValue

from orchestrator.control.editing import FILE_SAVE, VersionName

NEW_AGENT = "/settings/form?at=agents&new=1"
NEW_SERVER = "/settings/form?at=mcpServers&new=1"
AREA = re.compile(r'<textarea name="text"[^>]*>\n?(.*?)</textarea>', re.DOTALL)


async def _send_form(page: EditedPage, path: str, **fields: str) -> str:
    """Fill in a form and ask what it changes."""
    base = (await page.home.keeper.read_text(VersionName(name="agents.json"))).base
    named = {name.replace("__", "."): value for name, value in fields.items()}
    return await page.send(path, do="check", base=base, **named)


async def _save_preview(page: EditedPage, path: str, shown: str) -> str:
    """Save exactly what was shown."""
    found = AREA.search(shown)
    assert found is not None, shown
    base = (await page.home.keeper.read_text(VersionName(name="agents.json"))).base
    return await page.send(path, do="save", base=base, text=unescape(found[1]))


def _load_file(page: EditedPage) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = json.loads((page.home.path / "agents.json").read_text())
    return found


async def test_agent_is_added_with_a_budget_after_it_was_looked_at(tmp_path: Path) -> None:
    """Nothing is written before Save, and then exactly what was shown."""
    async with edited_page(tmp_path) as page:
        shown = await _send_form(
            page,
            NEW_AGENT,
            field__agentId="helper",
            field__llmProvider="demo",
            field__budget__usdPerDay="0.5",
        )
        assert "agent helper is new: its model is demo; it may use $0.50 a day" in shown
        assert FILE_SAVE not in [method for _, method, _ in page.bench.acts]
        await _save_preview(page, NEW_AGENT, shown)
        agents = _load_file(page)["agents"]
        assert isinstance(agents, list)
        assert agents[2] == {
            "agentId": "helper",
            "llmProvider": "demo",
            "budget": {"usdPerDay": 0.5},
        }


async def test_server_is_added_by_name_with_its_jail_in_words(tmp_path: Path) -> None:
    """What its program can reach stands in the preview."""
    async with edited_page(tmp_path) as page:
        shown = await _send_form(
            page,
            NEW_SERVER,
            **{"new-name": "wiki"},
            field__command="/bin/true",
            field__env="KEY=value",
            field__sandbox__network="no",
        )
        assert "server wiki is added; its programs run jailed, without network" in shown
        await _save_preview(page, NEW_SERVER, shown)
        assert _load_file(page)["mcpServers"] == {
            "wiki": {
                "command": "/bin/true",
                "env": {"KEY": "value"},
                "sandbox": {"network": False},
            }
        }
        form = await page.open("/settings/form?at=mcpServers/wiki")
        assert "Its program runs jailed, without network." in form


async def test_edit_changes_one_value_and_nothing_around_it(tmp_path: Path) -> None:
    """The layout of the file, and what the form does not show, stay."""
    async with edited_page(tmp_path) as page:
        before = (page.home.path / "agents.json").read_text()
        path = "/settings/form?at=agents/1"
        shown = await _send_form(page, path, field__agentId="home", field__llmProvider="auto")
        assert "home: model demo → auto" in shown
        await _save_preview(page, path, shown)
        after = (page.home.path / "agents.json").read_text()
        assert after == before.replace(
            '"home", "llmProvider": "demo"', '"home", "llmProvider": "auto"'
        )


async def test_removal_says_what_it_means_first(tmp_path: Path) -> None:
    """In words of the part, and in sentences of this change."""
    async with edited_page(tmp_path) as page:
        path = "/settings/form?at=agents/1"
        shown = await page.send(path, do="remove", base="")
        assert "nothing is answered there any more" in shown
        await _save_preview(page, path, shown)
        agents = _load_file(page)["agents"]
        assert isinstance(agents, list)
        assert len(agents) == 1


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("field__budget__usdPerDay", "much", "write a number"),
        ("field__agentId", "", "this is needed"),
        ("field__env", "KEY", "write NAME=value"),
        ("field__asTool", "nothing", "choose one of"),
    ],
)
async def test_wrong_value_stays_in_its_field_with_the_reason(
    tmp_path: Path, field: str, value: str, problem: str
) -> None:
    """The other values stay too."""
    async with edited_page(tmp_path) as page:
        fields = {"field__agentId": "helper", "field__description": "Helps.", field: value}
        shown = await _send_form(page, NEW_AGENT, **fields)
        assert problem in shown
        assert "Helps." in shown
        assert "Before it is saved" not in shown


async def test_value_that_the_file_refuses_cannot_be_saved(tmp_path: Path) -> None:
    """The preview has the problem and no Save."""
    async with edited_page(tmp_path) as page:
        shown = await _send_form(page, NEW_AGENT, field__agentId="UPPER", field__llmProvider="demo")
        assert "It cannot be saved yet" in shown
        assert 'value="save"' not in shown
        assert "Change something" in shown


async def test_warnings_of_this_change_come_before_earlier_ones(tmp_path: Path) -> None:
    """They name the agent and the field; those that were there before are folded."""
    agents = json.dumps(
        {
            "agents": [
                {"agentId": "work", "llmProvider": "demo", "approvals": ["send_mesage"]},
                {"agentId": "home", "llmProvider": "demo"},
            ],
            "fallbackAgentId": "work",
        },
        indent=1,
    )
    async with edited_page(tmp_path, agents) as page:
        path = "/settings/form?at=agents/1"
        fields = {"field__agentId": "home", "field__llmProvider": "demo"}
        shown = await _send_form(page, path, **fields, field__model="x")
        assert "2 earlier warnings<" in shown
        assert "Look at this" not in shown
        assert "data-line" not in shown
        shown = await _send_form(page, path, **fields, field__deniedTools="get_tme")
        before, _, after = shown.partition("2 earlier warnings<")
        assert "get_tme" in before
        assert "send_mesage" in after


async def test_edit_meanwhile_keeps_what_was_typed(tmp_path: Path) -> None:
    """The form comes back over the newer file."""
    async with edited_page(tmp_path) as page:
        base = (await page.home.keeper.read_text(VersionName(name="agents.json"))).base
        path = page.home.path / "agents.json"
        path.write_text(path.read_text().replace('"console"', '"api"'))
        shown = await page.send(
            "/settings/form?at=agents/1",
            do="check",
            base=base,
            **{"field.agentId": "home", "field.model": "newer"},
        )
        assert "changed meanwhile" in shown
        assert "newer" in shown


async def test_taken_name_is_refused(tmp_path: Path) -> None:
    """A server is not replaced by adding one."""
    async with edited_page(tmp_path) as page:
        await page.home.save("agents.json", '{"agents": [], "mcpServers": {"a": {"command": "x"}}}')
        path = page.home.path / "agents.json"
        path.write_text('{"agents": [], "mcpServers": {"a": {"command": "x"}}}')
        shown = await _send_form(page, NEW_SERVER, **{"new-name": "a"}, field__command="y")
        assert "this name is taken" in shown


async def test_form_begun_on_the_screen_of_an_agent_leads_back_there(tmp_path: Path) -> None:
    """Also by Cancel; one that was begun in the settings leads back to them."""
    async with edited_page(tmp_path) as page:
        for path, back in (
            ("/settings/form?at=bindings&new=1&field.agentId=home", "/agents/home"),
            ("/settings/form?at=bindings/0&agent=work", "/agents/work"),
            ("/settings/form?at=bindings/0", "/settings"),
        ):
            assert f'href="{back}"' in await page.open(path)
            shown = await _send_form(
                page,
                path,
                field__channel="console",
                field__chatId="*",
                field__agentId="home",
            )
            found = await page.home.keeper.read_text(VersionName(name="agents.json"))
            area = AREA.search(shown)
            text = found.text if area is None else unescape(area[1])
            answer = await page.person.post(
                path, {"do": "save", "base": found.base, "text": text, "once": f"back-{path}"}
            )
            assert answer.headers["location"] == f"{back}?saved=1"


async def test_price_is_added_by_the_name_that_the_file_wants(tmp_path: Path) -> None:
    """The schema decides what a name may be, so a price has that of its model."""
    async with edited_page(tmp_path) as page:
        path = "/settings/form?at=prices&new=1"
        prices = {"field__input": "1", "field__output": "2"}
        shown = await _send_form(page, path, **{"new-name": "gpt-5"}, **prices)
        assert "such as openai/gpt-5-mini" in shown
        assert "Before it is saved" not in shown
        shown = await _send_form(page, path, **{"new-name": "openai/gpt-5"}, **prices)
        await _save_preview(page, path, shown)
        assert _load_file(page)["prices"] == {"openai/gpt-5": {"input": 1, "output": 2}}


async def test_address_without_such_a_part_is_explained(tmp_path: Path) -> None:
    """It is the address that is wrong, so it leads back."""
    async with edited_page(tmp_path) as page:
        for at in ("nothing", "agents", "agents/0/agentId", "mcpServers/wiki"):
            answer = await page.person.get(f"/settings/form?at={at}")
            assert answer.status_code == 409
            assert "no such part" in answer.text


async def test_settings_say_what_is_set_up_and_what_changed(tmp_path: Path) -> None:
    """With links to the forms, and the way back from the newest change."""
    async with edited_page(tmp_path) as page:
        text = await page.home.read("agents.json")
        await page.home.save("agents.json", text.replace('"home"', '"house"'))
        shown = await page.open("/settings")
        assert "at=bindings%2F0" in shown
        assert "house" in shown
        assert "Undo the newest" in shown
        path = page.home.path / "agents.json"
        path.write_text("{")
        assert "agents.json is no JSON" in await page.open("/settings")
