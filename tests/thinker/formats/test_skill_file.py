"""SKILL.md files as people write them, valid and invalid."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.formats.skill_file import (
    MAX_BYTES,
    SkillError,
    find_field_line,
    parse_skill,
    scan_skills,
)


def text(fields: str = "", *, name: str = "a", body: str = "Body") -> str:
    """A SKILL.md with a description and these fields."""
    return f"---\nname: {name}\ndescription: d\n{fields}\n---\n{body}"


def test_every_field_is_read() -> None:
    """All fields of the specification, and the metadata block."""
    skill = parse_skill(
        text(
            "license: MIT\ncompatibility: needs git\nallowed-tools: Bash(git:*) Read\n"
            "metadata:\n  keywords: [Review, Code Review]\n  priority: 5\n"
            "  trigger_config: {schedule: '0 9 * * *'}\n  max_steps: 4\n  effort: 2000\n"
            "  execution_plan:\n    - {id: s, toolName: t, parameters: {a: 1}}"
        ),
        "a",
    )
    assert (skill.license, skill.compatibility) == ("MIT", "needs git")
    assert skill.allowed_tools == skill.required_tools == ("Bash(git:*)", "Read")
    assert skill.keywords == ("review", "code review")
    assert (skill.priority, skill.max_steps, skill.effort) == (5, 4, 2000)
    assert skill.trigger_config == {"schedule": "0 9 * * *"}
    assert skill.execution_plan == ({"id": "s", "toolName": "t", "parameters": {"a": 1}},)


def test_metadata_of_strings_is_read() -> None:
    """The specification allows text alone: keywords and tools may be one string each."""
    skill = parse_skill(
        text('metadata:\n  keywords: "Code Review, audit,,"\n  required_tools: "a_b, c_d"'), "a"
    )
    assert skill.keywords == ("code review", "audit")
    assert skill.required_tools == ("a_b", "c_d")


def test_blanks_between_keywords_are_read_once() -> None:
    """With a pattern that begins again at each of them this would take minutes."""
    blanks = " " * 100_000
    fields = f"allowed-tools: 'a{blanks}b'\nmetadata: {{keywords: 'a{blanks}, b'}}"
    skill = parse_skill(text(fields), "a")
    assert (skill.keywords, skill.allowed_tools) == (("a", "b"), ("a", "b"))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        *((text, text) for text in ("no", "on", "1:30", "2026-01-02", "010", "1_000", "1e999")),
        *((text, text) for text in (".inf", "<<", "=", "9" * 5000)),
        *(("true", True), ("7", 7), ("-1.5", -1.5), ("~", None)),
    ],
)
def test_scalars_mean_what_they_look_like(written: str, read: object) -> None:
    """Words that YAML 1.1 reads as booleans or dates are text."""
    skill = parse_skill(text(f"metadata:\n  trigger_config: {{x: {written}}}"), "a")
    assert skill.trigger_config == {"x": read}


def test_windows_line_ends_and_a_byte_order_mark_are_accepted() -> None:
    """They do not change the skill."""
    other = "\ufeff" + text(body="one\ntwo").replace("\n", "\r\n")
    assert parse_skill(other, "a").instructions == "one\ntwo"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("x: &a [1]\ny: *a", ":4: anchors"),
        ("x: !!python/object:os.system {}", ":4: anchors, aliases and tags"),
        ("x: !!timestamp 2026-01-02", "tags"),
        ("x: " + "[" * 100 + "]" * 100, "nested deeper"),
        ("x: [1", ":5: "),
        ("? [a]\n: b", "correct or quote"),
        (
            "5: x",
            "SKILL.md: the front matter must be 'field: value' lines with text as field names",
        ),
        ('x: "\\ud800"', ":4: found invalid Unicode"),
        ("metadata: {execution_plan: 5}", ":4: field 'execution_plan'"),
        ("description: b", ":4: 'description' appears twice; remove one"),
        ("x: \x07", "SKILL.md: the front matter is not valid YAML"),
    ],
)
def test_unusable_front_matter_is_refused_with_file_and_problem(fields: str, problem: str) -> None:
    """Each message names the file, its line, the problem and the correction."""
    with pytest.raises(SkillError, match=r"^a/SKILL\.md:") as refused:
        parse_skill(text(fields), "a")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "field", "note"),
    [
        ("metadata: [a]", "metadata", "'metadata' is no mapping and is ignored"),
        ("metadata:\n\tkeywords: [a]", "metadata", "tabs in the front matter"),
        ("metadata: {max_steps: many}", "max_steps", "'max_steps' is ignored: "),
        ("metadata: {effort: {}}", "effort", "'effort' is ignored: "),
        ("metadata: {trigger_config: daily}", "trigger_config", "'trigger_config' is ignored: "),
        ("license: [MIT]", "license", "'license' is ignored: "),
        (f"compatibility: {'a' * 501}", "compatibility", "'compatibility' is ignored: "),
        (f"metadata: {{keywords: [b, {'a' * 201}]}}", "keywords", "1 of its keywords are left out"),
        (f"metadata: {{keywords: [{'a, ' * 201}]}}", "keywords", "1 of its keywords are left out"),
    ],
)
def test_a_trifle_costs_itself_and_not_the_skill(fields: str, field: str, note: str) -> None:
    """The note says what is read, and what to write."""
    skill = parse_skill(text(fields), "a")
    ((named, said),) = skill.notes
    assert (skill.name, skill.instructions, named) == ("a", "Body", field)
    assert said.startswith(note)


@pytest.mark.parametrize(
    ("front", "description", "note"),
    [
        ("description: 5", "5", ""),
        (f"description: {'long ' * 900}", ("long " * 900)[:4096], "only the first 4096"),
    ],
)
def test_a_description_that_cannot_be_shown_is_replaced(
    front: str, description: str, note: str
) -> None:
    """It is what a model chooses the skill by, and it is in every prompt."""
    skill = parse_skill(f"---\nname: a\n{front}\n---\ndo it", "a")
    assert skill.description == description
    assert dict(skill.notes).get("description", "").startswith(note)


def test_description_may_be_longer_than_the_format_says() -> None:
    """Public skills have such: one of Anthropic's own has 1077 characters."""
    assert (
        parse_skill(f"---\nname: a\ndescription: {'d' * 1077}\n---\n", "a").description
        == "d" * 1077
    )


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Use when: asked. Not for: it's", "Use when: asked. Not for: it's"),
        ("Use when: asked,\n  or (1) told: so", "Use when: asked, or (1) told: so"),
        ('A "b": c # d', 'A "b": c # d'),
        ("Use when asked # a comment", "Use when asked"),
    ],
)
def test_description_with_a_colon_needs_no_quotes(written: str, read: str) -> None:
    """Public skills have such, and are used unchanged; correct YAML is read as it is."""
    whole = f"---\nname: a\ndescription: {written}\nlicense: MIT\n---\nBody"
    assert parse_skill(whole, "a").description == read


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a-", "a--b", "5", "a b", "''", "é", "b"])
def test_a_name_that_is_not_the_directorys_is_replaced_by_it(name: str) -> None:
    """A fifth of public skills have another; names in two places cannot both be right."""
    skill = parse_skill(text(name=name), "a")
    assert skill.name == "a"
    assert skill.notes == (("name", "it is called 'a' after its directory; set name: a"),)


def test_a_directory_with_other_letters_gives_its_name_in_those_of_the_format() -> None:
    """Capitals, spaces and what no list of names can hold."""
    skill = parse_skill(text(name="My Skill"), "My_Skill (2)")
    assert skill.name == "my-skill-2"
    assert "give its directory this name, and set name: my-skill-2" in skill.notes[0][1]
    with pytest.raises(SkillError, match="give the directory such a name"):
        parse_skill(text(), "技能")


@pytest.mark.parametrize(
    ("value", "silent"), [("true", True), ("'true'", True), ("false", False), ("maybe", False)]
)
def test_a_skill_can_stay_out_of_prompts(value: str, *, silent: bool) -> None:
    """By the field that other programs have for that."""
    assert parse_skill(text(f"disable-model-invocation: {value}"), "a").silent == silent


@pytest.mark.parametrize("whole", ["", "Body", "---\nname: a\n", "--- x\nname: a\n---\n", "\0"])
def test_text_without_front_matter_is_refused(whole: str) -> None:
    """The message says what front matter looks like."""
    with pytest.raises(SkillError, match="front matter"):
        parse_skill(whole, "a")


@given(
    st.text() | st.text(alphabet="-:[]{}&*!|>'\"\n ab0?,%@`#\t").map(lambda t: f"---\n{t}\n---\n")
)
def test_any_text_is_a_skill_or_a_skill_error(whole: str) -> None:
    """The parser raises no other exception."""
    try:
        parse_skill(whole, "a")
    except SkillError as error:
        message = str(error)
    else:
        message = "a/SKILL.md: a skill"
    assert message.startswith("a/SKILL.md:")


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("name: a", "the field 'description' is missing; add it"),
    ],
)
def test_front_matter_that_is_wrong_says_what_to_write(front: str, message: str) -> None:
    """In words of the file, not of its parsers."""
    with pytest.raises(SkillError, match=message):
        parse_skill(f"---\n{front}\n---\n", "a")


def test_fields_that_are_not_read_are_named() -> None:
    """Those of this program in the wrong place, and those of its metadata that it does not know."""
    skill = parse_skill(text("keywords: a\nversion: 1\nmetadata: {keywordz: [b], author: c}"), "a")
    assert skill.unread == ("keywords", "metadata.keywordz", "metadata.author")


@pytest.mark.parametrize(
    ("place", "line"), [(("metadata", "keywords"), 7), (("metadata",), 5), (("name",), 3)]
)
def test_line_of_a_field_is_found_in_the_file(
    tmp_path: Path, place: tuple[str, ...], line: int
) -> None:
    """It counts from the file's first line; a file that is gone has none."""
    path = put(tmp_path, "\n" + text("metadata:\n  x: 1\n  keywords: [b]"))
    ((skill,), _) = scan_skills((tmp_path,))
    assert find_field_line(skill, place) == line
    path.unlink()
    assert find_field_line(skill, place) == 0


def test_large_file_is_refused(tmp_path: Path) -> None:
    """The limit holds for texts and for files."""
    with pytest.raises(SkillError, match="256 KiB"):
        parse_skill(text(body="x" * MAX_BYTES), "a")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").write_text(text(body="x" * 2 * MAX_BYTES), "utf-8")
    assert "256 KiB" in scan_skills((tmp_path,))[1][0].message


def put(root: Path, content: str | bytes, name: str = "a") -> Path:
    """Write a SKILL.md below a directory."""
    path = root / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_later_directory_wins_and_a_broken_file_there_does_not(tmp_path: Path) -> None:
    """A user's skill replaces the bundled one; a broken one leaves it in place."""
    put(tmp_path / "bundled", text(body="old"))
    put(tmp_path / "bundled", text(name="b", body="old"), "b")
    mine = put(tmp_path / "home", text(body="new"))
    put(tmp_path / "home", "broken", "b")
    skills, problems = scan_skills((tmp_path / "bundled", tmp_path / "home"))
    assert [(skill.name, skill.instructions) for skill in skills] == [("a", "new"), ("b", "old")]
    assert skills[0].path == mine
    assert len(problems) == 1


def test_link_to_a_file_outside_is_refused(tmp_path: Path) -> None:
    """No other file can get into the prompt that way; a link inside the directory is fine."""
    put(tmp_path / "skills", text(body="inside"), "a")
    secret = put(tmp_path / "elsewhere", text(name="b", body="secret"), "b")
    (tmp_path / "skills" / "b").mkdir()
    (tmp_path / "skills" / "b" / "SKILL.md").symlink_to(secret)
    (tmp_path / "skills" / "c").symlink_to(secret.parent)
    skills, problems = scan_skills((tmp_path / "skills",))
    assert [skill.name for skill in skills] == ["a"]
    assert [problem.message.count("links to a file outside") for problem in problems] == [1, 1]


def test_unreadable_files_are_reported_and_never_block(tmp_path: Path) -> None:
    """A pipe, a wrong encoding and a broken link do not stop the scan."""
    put(tmp_path, b"---\nname: a\n\xff", "a")
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / "SKILL.md")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "SKILL.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "README.md").write_text("not a skill", "utf-8")
    skills, problems = scan_skills((tmp_path,))
    assert skills == ()
    assert ["UTF-8" in problems[0].message, "regular file" in problems[1].message] == [True] * 2
