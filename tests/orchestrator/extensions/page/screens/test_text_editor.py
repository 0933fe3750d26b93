"""The editor of texts, from the form to the file."""

import json
from pathlib import Path

from fakes.edited_page import EditedPage, edited_page

from orchestrator.control.editing import FILE_SAVE, FileEdit, VersionName

EDITOR = "/texts/agents.json"


async def _read_base(page: EditedPage) -> tuple[str, str]:
    """The present text with its base."""
    found = await page.home.keeper.read_text(VersionName(name="agents.json"))
    return found.text, found.base


async def test_check_shows_what_a_change_means_and_saves_nothing(tmp_path: Path) -> None:
    """The sentences, the lines, and no version."""
    async with edited_page(tmp_path) as page:
        text, base = await _read_base(page)
        changed = text.replace('"home", "llmProvider": "demo"', '"home", "llmProvider": "auto"')
        shown = await page.send(EDITOR, do="check", base=base, text=changed.replace("\n", "\r\n"))
        assert "home: model demo → auto" in shown
        assert "<ins>" in shown
        assert (await _read_base(page))[0] == text


async def test_saved_text_is_in_force_and_can_be_undone(tmp_path: Path) -> None:
    """The note after saving says what has changed, and undoes it."""
    async with edited_page(tmp_path) as page:
        text, base = await _read_base(page)
        changed = text.replace('"home", "llmProvider": "demo"', '"home", "llmProvider": "auto"')
        shown = await page.send(EDITOR, do="save", base=base, text=changed, why="a try")
        assert "Saved." in shown
        assert "home: model demo → auto" in shown
        history = await page.open(f"{EDITOR}/history")
        assert "web:ann" in history
        assert "a try" in history
        shown = await page.send("/act/files/undo", name="agents.json", back=f"{EDITOR}?undone=1")
        assert "Undone." in shown
        assert (await _read_base(page))[0] == text


async def test_text_with_errors_comes_back_with_their_lines(tmp_path: Path) -> None:
    """What was written stays in the box, and the file is as before."""
    async with edited_page(tmp_path) as page:
        text, base = await _read_base(page)
        wrong = text.replace('"llmProvider": "demo"', '"llmProvider": "dmeo"', 1)
        shown = await page.send(EDITOR, do="save", base=base, text=wrong)
        assert "It cannot be saved yet" in shown
        assert 'data-line="3"' in shown
        assert "&#34;work&#34;, &#34;llmProvider&#34;: &#34;dmeo&#34;" in shown.split("<code>")[1]
        assert "dmeo" in shown
        assert (await _read_base(page))[0] == text


async def test_conflict_shows_both_texts_and_loses_none(tmp_path: Path) -> None:
    """The next Save goes over theirs, now that it was seen."""
    async with edited_page(tmp_path) as page:
        text, base = await _read_base(page)
        file = page.home.path / "agents.json"
        theirs = file.read_text().replace("console", "api")
        file.write_text(theirs)
        mine = text.replace('"home"', '"house"')
        shown = await page.send(EDITOR, do="save", base=base, text=mine)
        assert "It was edited by hand, in its file" in shown
        assert "nothing works differently" not in shown
        assert "&#34;channel&#34;: &#34;api&#34;" in shown
        assert "house" in shown
        assert "Save mine over it" in shown
        assert file.read_text() == theirs
        _, newer = await _read_base(page)
        assert f'value="{newer}"' in shown
        assert "Saved." in await page.send(EDITOR, do="save", base=newer, text=mine)


async def test_conflict_says_who_changed_the_text(tmp_path: Path) -> None:
    """By the versions, so that one knows whom to ask."""
    async with edited_page(tmp_path) as page:
        text, base = await _read_base(page)
        await page.home.save("agents.json", text.replace("console", "api"), by="web:bob")
        mine = text.replace('"home"', '"house"')
        shown = await page.send(EDITOR, do="check", base=base, text=mine)
        assert "web:bob changed it" in shown
        assert "agent house is new" in shown


async def test_text_with_errors_on_disk_has_a_way_back(tmp_path: Path) -> None:
    """It is not in force, and the last good version is one press away."""
    async with edited_page(
        tmp_path, '{"agents": [{"agentId": "a", "llmProvider": "demo"}]}'
    ) as page:
        file = page.home.path / "agents.json"
        good = file.read_text()
        assert "Restore the last good version" not in await page.open(EDITOR)
        await page.home.notice()
        file.write_text(good[:-1])
        shown = await page.open(EDITOR)
        assert "the last good version is in force" in shown
        assert "this is the text in force" not in shown
        assert "Restore the last good version" in shown
        await page.send("/act/files/undo", name="agents.json", back=f"{EDITOR}?undone=1")
        assert file.read_text() == good


async def test_secrets_are_never_shown_and_survive_an_edit(tmp_path: Path) -> None:
    """A mark stands in their place, in the editor as in the history."""
    async with edited_page(tmp_path) as page:
        shown = await page.open(EDITOR)
        assert "first-secret" not in shown
        text, base = await _read_base(page)
        await page.send(EDITOR, do="save", base=base, text=text.replace('"home"', '"house"'))
        assert "first-secret" in (page.home.path / "agents.json").read_text()
        assert "first-secret" not in await page.open(f"{EDITOR}/history?version=1")


async def test_who_may_only_look_cannot_open_an_editor(tmp_path: Path) -> None:
    """Texts are for operators, and the supervisor refuses the rest anyway."""
    async with edited_page(tmp_path) as page:
        for role in ("viewer", "chat", "approver"):
            person = await page.bench.login(role, user=role)
            assert (await person.get(EDITOR)).status_code == 403
            posted = await person.post(EDITOR, {"do": "save", "text": "{}", "base": ""})
            assert posted.status_code == 403
        assert FILE_SAVE not in [method for _, method, _ in page.bench.acts]


async def test_new_skill_begins_with_an_example(tmp_path: Path) -> None:
    """Its name leads to its place; a name that no file can have is explained."""
    async with edited_page(tmp_path) as page:
        shown = await page.send("/texts-new/skills/", name="Morning Note")
        assert "lower-case letters" in shown
        shown = await page.send("/texts-new/skills/", name="evening-note")
        assert "name: evening-note" in shown
        assert "New: it does not exist yet." in shown


async def test_unknown_text_is_said_to_be_none_and_hidden_characters_are_named(
    tmp_path: Path,
) -> None:
    """An address may be old; what cannot be seen stays in the text as it is."""
    async with edited_page(tmp_path) as page:
        assert "is no" in await page.open("/texts/nothing/history")
        _, base = await _read_base(page)
        shown = await page.send(EDITOR, do="check", base=base, text='{"a\u202e": 1}')
        assert "characters that cannot be seen: ⟦U+202E⟧" in shown


async def test_list_finds_texts_by_name(tmp_path: Path) -> None:
    """By words in any order; nothing found is said."""
    async with edited_page(tmp_path) as page:
        assert EDITOR in await page.open("/texts")
        assert "No text has such a name." in await page.open("/texts?q=nothing+like+it")


async def test_version_says_what_going_back_would_change(tmp_path: Path) -> None:
    """Before anything is done."""
    async with edited_page(tmp_path) as page:
        text, base = await _read_base(page)
        changed = text.replace('"home", "llmProvider": "demo"', '"home", "llmProvider": "auto"')
        await page.send(EDITOR, do="save", base=base, text=changed)
        shown = await page.open(f"{EDITOR}/history?version=1")
        assert "home: model auto → demo" in shown
        assert "Go back to this" in shown
        assert "in force" in await page.open(f"{EDITOR}/history?version=2")


async def test_help_for_keys_is_sent_once_for_all(tmp_path: Path) -> None:
    """As JSON, from the schema."""
    async with edited_page(tmp_path) as page:
        assert "agents/*/model" in json.loads(await page.open("/texts-help/agents.json"))


async def test_edit_that_tests_object_to_is_saved_only_on_purpose(tmp_path: Path) -> None:
    """The objections are shown, and another button saves it all the same."""
    async with edited_page(tmp_path) as page:
        text, base = await _read_base(page)
        changed = text.replace('"home", "llmProvider": "demo"', '"home", "llmProvider": "auto"')

        async def judge(edit: FileEdit, by: str) -> tuple[str, ...]:
            return () if edit.anyway else (f"gate <b>daily</b> is red for {by}",)

        page.home.keeper.judge = judge
        shown = await page.send(EDITOR, do="save", base=base, text=changed)
        assert "Tests object to it" in shown
        assert "gate &lt;b&gt;daily&lt;/b&gt; is red for web:ann" in shown
        assert 'value="anyway">Save anyway' in shown
        assert (await _read_base(page))[0] == text
        assert "Saved." in await page.send(EDITOR, do="anyway", base=base, text=changed)
        assert (await _read_base(page))[0] == changed


async def test_a_text_of_prompts_can_be_tried_before_it_is_saved(tmp_path: Path) -> None:
    """Others go into no prompt, and have no such button."""
    async with edited_page(tmp_path) as page:
        assert "/try?file=agents.json" in await page.open(EDITOR)
        assert "/try?" not in await page.open("/texts/playbooks/new")
