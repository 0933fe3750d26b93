"""Which files of a home can be edited, and what is wrong with a text before it is written."""

import os
from pathlib import Path

import pytest
from fakes.edited_home import AGENTS, SKILL, EditedHome

from orchestrator.control.editing import VersionName
from orchestrator.errors import ConfigError, UnknownNameError

NOTE = "skills/morning-note/SKILL.md"
OWN = "personas/work/skills/morning-note/SKILL.md"
PROMPT = "toolDescription: Says hello.\nmodel: inherit\nprompt: Say hello.\n"


@pytest.fixture
def home(tmp_path: Path) -> EditedHome:
    return EditedHome(tmp_path / "home")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "keys.env",
        "agents.json/",
        "agents.jsonx",
        "../agents.json",
        "prompts/../keys.env",
        "prompts/..md",
        "prompts/a/b.md",
        "prompts/x.txt",
        "prompts/.hidden.md",
        "/etc/passwd",
        "skills/SKILL.md",
        "skills/../SKILL.md",
        "skills/a/b/SKILL.md",
        "skills/tea/other.md",
        "skills/tea\n/SKILL.md",
        f"skills/{'x' * 65}/SKILL.md",
        "personas/work/keys.env",
        "personas/../instructions.md",
        "personas/work/skills/../../instructions.md",
        "tasks/1",
        "prompts/a\0.md",
    ],
)
async def test_name_of_no_text_is_refused(home: EditedHome, name: str) -> None:
    """Whatever is asked about it."""
    with pytest.raises(UnknownNameError):
        await home.read(name)
    with pytest.raises(UnknownNameError):
        await home.save(name, "text")


@pytest.mark.parametrize("name", [NOTE, OWN, "prompts/hello.yaml", "personas/work/instructions.md"])
async def test_new_text_gets_its_folders_and_is_closed_to_others(
    home: EditedHome, name: str
) -> None:
    """It is listed from then on."""
    text = SKILL if name.endswith("SKILL.md") else PROMPT
    report = await home.save(name, text)
    assert report.saved, report.problems
    path = home.find_path(report)
    assert (path.read_text(), path.stat().st_mode & 0o777) == (text, 0o600)
    assert name in [one.name for one in (await home.keeper.list_texts()).files]
    assert (await home.save(name, None)).saved
    assert not path.exists()


async def test_mode_of_a_file_stays(home: EditedHome) -> None:
    """A group that may read it keeps that."""
    path = home.path / "agents.json"
    path.chmod(0o640)
    assert (await home.save("agents.json", AGENTS.replace('"demo" }', '"demo", "port": 0 }'))).saved
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["agents.json", "prompts/hello.yaml", NOTE])
async def test_link_out_of_the_home_is_not_followed(
    home: EditedHome, tmp_path: Path, name: str
) -> None:
    """Neither to read nor to write."""
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    path = home.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(outside)
    with pytest.raises(ConfigError, match="leads out of"):
        await home.read(name)
    with pytest.raises(ConfigError, match="leads out of"):
        await home.save(name, "text")
    assert outside.read_text() == "theirs"


async def test_link_to_keys_is_not_read_as_a_prompt(home: EditedHome) -> None:
    """A folder's texts are in that folder."""
    (home.path / "keys.env").write_text("KEY=secret-of-the-home\n")
    (home.path / "prompts" / "a.md").symlink_to(home.path / "keys.env")
    with pytest.raises(ConfigError, match="leads out of"):
        await home.read("prompts/a.md")


async def test_agents_file_may_be_a_link_within_the_home(home: EditedHome) -> None:
    """What it links to is replaced, and the link stays."""
    path, real = home.path / "agents.json", home.path / "config" / "agents.json"
    real.parent.mkdir()
    path.rename(real)
    path.symlink_to(real)
    assert (await home.save("agents.json", AGENTS.replace('"demo" }', '"demo", "port": 0 }'))).saved
    assert path.is_symlink()
    assert '"port": 0' in real.read_text()


async def test_named_pipe_does_not_block(home: EditedHome) -> None:
    """It is no text."""
    os.mkfifo(home.path / "prompts" / "a.md")
    with pytest.raises(ConfigError, match="named pipe"):
        await home.read("prompts/a.md")


async def test_text_that_is_too_large_or_no_text_is_refused(home: EditedHome) -> None:
    """The limit is that of the reader."""
    for text, message in ((SKILL + "x" * 300_000, "larger than 256 KiB"), (SKILL + "\0", "NUL")):
        report = await home.save(NOTE, text)
        assert not report.saved
        assert message in report.problems[0].message


async def test_first_edit_of_the_bundled_file_makes_the_home_s_own(home: EditedHome) -> None:
    """The one that came with the program stays."""
    (home.path / "agents.json").unlink()
    text = await home.read("agents.json")
    assert '"agentId"' in text
    report = await home.save("agents.json", AGENTS)
    assert report.saved
    assert (home.path / "agents.json").read_text() == AGENTS


async def test_agents_json_cannot_be_removed(home: EditedHome) -> None:
    """An edit without a text would."""
    assert "cannot be removed" in (await home.save("agents.json", None)).problems[0].message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (NOTE, "no front matter", "no front matter"),
        (NOTE, SKILL.replace("[morning]", "[morning"), "did not find"),
        ("prompts/hello.yaml", "prompt: 7", "is missing"),
        ("prompts/hello.yaml", PROMPT + "tools: [nothing_like_it]\n", "nothing_like_it"),
        ("personas/work/instructions.md", " \n", "it is empty"),
        ("agents.json", "{", "expected a name"),
        (
            "agents.json",
            AGENTS.replace('"agentId": "work" }]', '"agentId": "w" }]'),
            "unknown agent",
        ),
    ],
)
async def test_problem_is_found_before_the_text_is_written(
    home: EditedHome, name: str, text: str, message: str
) -> None:
    """By the checks that `orchestrator check` makes of files."""
    found = (await home.save(name, text)).problems
    assert {problem.file for problem in found} == {name}
    assert any(message in problem.message for problem in found), found


async def test_errors_of_other_files_do_not_stand_in_the_way(home: EditedHome) -> None:
    """They are as they were."""
    (home.path / "prompts" / "broken.yaml").write_text("prompt: 7")
    assert (await home.save("prompts/hello.yaml", PROMPT)).saved
    assert (await home.save("agents.json", AGENTS.replace('"demo" }', '"demo", "port": 0 }'))).saved


async def test_prompt_says_which_agents_use_it(home: EditedHome) -> None:
    """And which field changed."""
    await home.save("prompts/hello.yaml", PROMPT)
    await home.save("agents.json", AGENTS.replace('"demo" }', '"demo", "prompt": "hello" }'))
    report = await home.save("prompts/hello.yaml", PROMPT.replace("Say h", "Please say h"))
    assert report.sentences == (
        "the text of prompt hello has 2 words more and 1 word less",
        "home uses it, from the next answer on",
    )


async def test_skill_says_when_it_runs_instead(home: EditedHome) -> None:
    """In the words of the list of tasks."""
    at = "\n  trigger_config: {{schedule: '0 {hour} * * *'}}\n---\nSay"
    early, late = (SKILL.replace("\n---\nSay", at.format(hour=hour)) for hour in (8, 9))
    await home.save(NOTE, late)
    report = await home.save(NOTE, early.replace("[morning]", "[morning, dawn]"))
    assert report.sentences == (
        "skill morning-note runs at 8:00 AM daily instead of at 9:00 AM daily",
        "skill morning-note: its keywords: dawn is added",
    )


async def test_file_that_is_not_text_is_named(home: EditedHome) -> None:
    """It can be replaced by other means alone."""
    (home.path / "prompts" / "a.md").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        await home.keeper.read_text(VersionName(name="prompts/a.md"))
