"""What extensions add to agents.json: channels, fields of agents, and settings of their own.

The extensions are invented: each of the real ones could be deleted.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from agentsschema import build_schema
from fakes.agents_file import WORK, parsed
from fakes.installed_extensions import install_extensions

from orchestrator.agentsfile import (
    AgentDefinition,
    ConfigModel,
    LoadedConfig,
    LocalChannel,
    diff_agents,
    parse_agents_file,
)
from orchestrator.agentsfile.draft import Draft
from orchestrator.extension import Extension

ALARM = {"agentId": "work", "at": "07:00"}


class Alarm(ConfigModel):
    """One time of a day."""

    at: str
    """The time."""
    secret: str = ""
    """What its button says."""


class ClockSettings(LocalChannel):
    """A clock that can be asked."""

    entry_nouns: ClassVar[Mapping[str, str]] = {"alarm_times": "alarm"}

    hours: int = 12
    """Hours on its face."""
    alarm_times: dict[str, Alarm] = {}  # noqa: RUF012 - pydantic copies defaults
    """Its alarms."""


class ClockChannels(ConfigModel):
    """What the clock adds to channels."""

    clock: ClockSettings = ClockSettings()
    """A clock."""


class ClockFields(ConfigModel):
    """What the clock adds to agents."""

    wakes_early: bool = False
    """Whether the agent likes mornings."""


class ClockExtension(Extension):
    """A clock of ours."""

    name = "clock"

    def get_channels_model(self) -> type[ConfigModel]:
        return ClockChannels

    def get_agent_model(self) -> type[ConfigModel]:
        return ClockFields


class WeatherSettings(ConfigModel):
    """Where the weather comes from."""

    secret: str = ""
    """Key of the service."""
    days: int = 3
    """Days that are forecast."""


class WeatherFields(ConfigModel):
    """What the weather adds to agents."""

    umbrella: bool = False
    """Whether the agent has one."""


class WeatherExtension(Extension):
    """The weather, by strangers."""

    name = "weather"
    fails = False

    def get_settings_model(self) -> type[ConfigModel]:
        return WeatherSettings

    def get_agent_model(self) -> type[ConfigModel] | None:
        return WeatherFields

    def check_agents_file(
        self, draft: Draft, environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        del environ, home
        if self.fails:
            raise RuntimeError("it rains")
        days = draft.extensions.get_settings(WeatherSettings).days
        draft.add_warning(("extensions", "weather", "days"), f"{days} days were asked for")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of ours, and the weather of others."""
    install_extensions(monkeypatch, own=(ClockExtension(),), foreign=(WeatherExtension(),))


def messages(loaded: LoadedConfig) -> list[str]:
    """What is wrong."""
    return [str(found) for found in loaded.problems]


def test_channel_has_its_settings_or_their_defaults() -> None:
    """Whoever asks needs not know whether the file has the section."""
    found = parsed(WORK, channels={"clock": {"hours": 24}}).file.channels
    assert found.get_settings(ClockSettings).hours == 24
    assert parsed(WORK).file.channels.get_settings(ClockSettings) == ClockSettings()
    assert found.list_sections()["clock"].enabled


def test_channel_that_is_not_installed_has_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """What asks for it goes on without."""
    install_extensions(monkeypatch)
    channels = parsed(WORK).file.channels
    assert channels.get_settings(ClockSettings) == ClockSettings()
    assert not channels.is_on("clock")


def test_wrong_channel_is_told_as_any_other_part_and_switched_off() -> None:
    """With its line, and the name that was meant."""
    found = parse_agents_file(
        json.dumps({"agents": [WORK], "channels": {"clock": {"hour": 24}}}, indent=0).encode()
    )
    wrong = 'agents.json:10: channel \'clock\' has an unknown field "hour"; did you mean "hours"?'
    assert [str(error) for error in found.errors] == [wrong]
    assert not found.file.channels.is_on("clock")


def test_one_entry_with_an_error_is_left_out() -> None:
    """The others go on, and so does the channel."""
    alarms = {"good": {"at": "7"}, "bad": {"at": 7}, "none": {"at": "${NOON}"}}
    found = parsed(WORK, channels={"clock": {"hours": 24, "alarmTimes": alarms}})
    assert "alarm 'bad': \"at\" must be text" in messages(found)[0]
    settings = found.file.channels.get_settings(ClockSettings)
    assert (settings.hours, [*settings.alarm_times]) == (24, ["good", "none"])


@pytest.mark.parametrize(("environ", "kept"), [({"BELL": "ding"}, "ding"), ({}, None)])
def test_secret_of_an_entry_is_filled_in(environ: dict[str, str], kept: str | None) -> None:
    """An entry whose variable is not set is left out."""
    alarm = {"at": "7", "secret": "${BELL}"}
    file = {"agents": [WORK], "channels": {"clock": {"alarmTimes": {"a": alarm}}}}
    loaded = parse_agents_file(json.dumps(file).encode(), environ=environ)
    found = loaded.file.channels.get_settings(ClockSettings).alarm_times.get("a")
    assert (found and found.secret) == kept
    unset = "alarm 'a': \"secret\" takes BELL, which is not set"
    assert any(unset in str(error) for error in loaded.errors) is (kept is None)


def test_agent_keeps_its_added_fields() -> None:
    """A copy has them, and an agent with other ones is another agent."""
    early = {**WORK, "wakesEarly": True}
    old, new = parsed(WORK).file, parsed(early).file
    (agent,) = new.agents
    assert agent.get_fields(ClockFields).wakes_early
    assert agent.model_copy(update={"agent_id": "sub"}).get_fields(ClockFields).wakes_early
    assert agent.configured_id == "work"
    assert diff_agents(old, new).changed == {"work"}
    assert diff_agents(new, parsed(early).file).unchanged == {"work"}


def test_agent_that_nothing_was_added_to_has_the_defaults() -> None:
    """An agent that the program makes itself is such a one."""
    agent = AgentDefinition(agent_id="made", llm_provider="demo")
    assert agent.get_fields(ClockFields) == ClockFields()


@pytest.mark.parametrize(
    ("agent", "rest", "message"),
    [
        ({"wakeEarly": True}, {}, '"wakeEarly"; did you mean "wakesEarly"?'),
        ({"wakesEarly": "yes"}, {}, '"wakesEarly" must be true or false'),
        ({}, {"wakesEarly": True}, 'unknown field "wakesEarly"; it belongs in an agent'),
        ({}, {"channels": {"clok": {}}}, "unknown channel 'clok'; did you mean \"clock\"?"),
        ({}, {"extension": {}}, 'unknown field "extension"; did you mean "extensions"?'),
        ({}, {"extensions": []}, '"extensions" must be an object'),
        ({}, {"extensions": {"clock": {"x": 1}}}, "extension 'clock' has an unknown field \"x\""),
        ({}, {"extensions": {"weather": {"day": 1}}}, '"day"; did you mean "days"?'),
        ({}, {"extensions": {"wether": {}}}, 'is not installed; did you mean "weather"?'),
        ({}, {"extensions": {"x": {}}}, "install it or remove it"),
    ],
)
def test_wrong_name_is_answered_with_the_right_one(
    agent: dict[str, Any], rest: dict[str, Any], message: str
) -> None:
    """The fields of extensions are known wherever names are."""
    found = parsed(WORK, {**WORK, "agentId": "other", **agent}, **rest)
    assert any(message in text for text in messages(found)), messages(found)


@pytest.mark.parametrize(
    ("agent", "rest", "message"),
    [
        ({}, {"channels": {"telegram": {}}}, "channels.telegram needs the extension 'telegram'"),
        ({}, {"channels": {"web": {}}}, "channels.web needs the extension 'page'"),
        ({}, {"channels": {"matrix": {}}}, "channels.matrix needs the extension 'matrix'"),
        ({"workspace": True}, {}, "agent 'other': \"workspace\" needs the extension 'workspace'"),
        ({}, {"extensions": {"telemetry": {}}}, "extensions.telemetry needs the extension"),
        ({}, {"mcpServers": {"s": {"command": "sh"}}}, '"mcpServers" needs the extension'),
        ({}, {"retention": {"turnDays": 8}}, "\"retention\" needs the extension 'upkeep'"),
        ({"compaction": {}}, {}, "agent 'other': \"compaction\" needs the extension 'memory'"),
    ],
)
def test_part_of_an_extension_that_is_gone_is_answered_with_what_to_type(
    agent: dict[str, Any], rest: dict[str, Any], message: str
) -> None:
    """The core knows the names that ours bring, though not what they mean; it goes on without."""
    found = parsed(WORK, {**WORK, "agentId": "other", **agent}, **rest)
    (text,) = messages(found)
    assert message in text
    assert "which is not installed; run: " in text
    assert not found.errors
    assert found.file.list_enabled_ids() == {"work", "other"}


def test_binding_to_a_channel_that_is_gone_is_a_warning() -> None:
    """It says the same."""
    bindings = [{"channel": "telegram", "chatId": "0", "agentId": "work"}]
    (problem,) = parsed(WORK, bindings=bindings).problems
    assert "binding telegram:0 needs the extension 'telegram'" in problem.message
    assert problem.severity == "warning"


def test_stranger_runs_only_if_it_is_named() -> None:
    """So do its checks; an empty object is enough, and other settings are its own."""
    quiet, named = parsed(WORK), parsed(WORK, extensions={"weather": {"days": 5}})
    assert "weather" not in quiet.file.extensions
    assert messages(quiet) == []
    assert "weather" in named.file.extensions
    assert named.file.extensions.get_settings(WeatherSettings).days == 5
    assert [text.partition(": ")[2] for text in messages(named)] == [
        "warning: extension 'weather': 5 days were asked for"
    ]
    assert "weather" in parsed(WORK, extensions={"weather": {}}).file.extensions


def test_stranger_with_an_error_does_not_run() -> None:
    """Its settings are not what its author meant."""
    found = parsed(WORK, extensions={"weather": {"days": "many"}})
    assert "weather" not in found.file.extensions
    assert '"days" must be a valid integer' in messages(found)[0]


def test_secret_of_an_extension_is_filled_in() -> None:
    """It stands in keys.env, not in the file."""
    file = {"agents": [WORK], "extensions": {"weather": {"secret": "${SKY}"}}}
    found = parse_agents_file(json.dumps(file).encode(), environ={"SKY": "blue"})
    assert found.file.extensions.get_settings(WeatherSettings).secret == "blue"
    assert found.secrets == ()
    unset = parse_agents_file(json.dumps(file).encode())
    assert "extension 'weather': \"secret\" takes SKY, which is not set" in str(unset.errors[0])


def test_field_of_a_stranger_that_does_not_run_is_a_warning() -> None:
    """It would be mistaken for one in force."""
    umbrella = {**WORK, "umbrella": True}
    (text,) = messages(parsed(umbrella))
    assert "agent 'work': \"umbrella\" has no effect" in text
    assert 'add "extensions": { "weather": {} }' in text
    found = parsed(umbrella, extensions={"weather": {}})
    assert not any("umbrella" in text for text in messages(found))
    assert found.file.agents[0].get_fields(WeatherFields).umbrella


def test_check_of_a_stranger_that_fails_costs_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file is in force all the same."""
    monkeypatch.setattr(WeatherExtension, "fails", True)
    found = parsed(WORK, extensions={"weather": {}})
    assert (
        "extension 'weather': its settings cannot be checked: RuntimeError: it rains"
        in (messages(found)[0])
    )
    assert "weather" in found.file.extensions
    assert not found.errors


class Clash(ConfigModel):
    """A field that agents have."""

    model: str = ""


class Demand(ConfigModel):
    """A field that no agent has."""

    soul: str


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (Clash, 'its agent field "model" is already declared by another extension'),
        (ClockFields, 'its agent field "wakes_early" is already declared by another extension'),
        (Demand, 'its agent field "soul" has no default'),
        (dict, "is not a subclass of orchestrator.agentsfile.ConfigModel"),
    ],
)
def test_stranger_cannot_take_or_demand_fields(
    monkeypatch: pytest.MonkeyPatch, fields: Any, reason: str
) -> None:
    """All agents go on; whoever named it is told why it does not run."""
    monkeypatch.setattr(WeatherExtension, "get_agent_model", lambda _: fields)
    found = parsed({**WORK, "wakesEarly": True}, extensions={"weather": {}})
    assert reason in messages(found)[0]
    assert found.file.list_enabled_ids() == {"work"}
    assert "weather" not in found.file.extensions


def test_stranger_that_cannot_be_loaded_is_told_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only if the file names it."""
    install_extensions(monkeypatch, broken={"weather": "ImportError: no sky"})
    assert messages(parsed(WORK)) == []
    (text,) = messages(parsed(WORK, extensions={"weather": {}}))
    assert "extension 'weather' cannot be used: ImportError: no sky" in text


def test_channel_is_not_an_extension_of_the_supervisor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its settings have a place of their own."""
    install_extensions(monkeypatch, channels={"pigeon": tmp_path})
    (text,) = messages(parsed(WORK, extensions={"pigeon": {}}))
    assert "extension 'pigeon' is a channel; move its settings to channels.pigeon" in text


@pytest.mark.parametrize(
    ("name", "manifest", "reason"),
    [
        ("pigeon", "{}", "channel 'pigeon' cannot be used"),
        ("pigeon", "{", "channel.json: Invalid JSON"),
        ("web", "{}", "channels.web needs the extension 'page'"),
    ],
)
def test_channel_folder_that_cannot_be_used_is_told_if_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, manifest: str, reason: str
) -> None:
    """One folder of a stranger must not stop a daemon, nor take the name of a channel of ours."""
    (tmp_path / "channel.json").write_text(manifest, "utf-8")
    install_extensions(monkeypatch, channels={name: tmp_path})
    assert messages(parsed(WORK)) == []
    (text,) = messages(parsed(WORK, channels={name: {}}))
    assert reason in text


def test_fault_in_a_channels_manifest_is_named_where_the_channel_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The field and what is wrong with it; a binding does not call the channel unknown."""
    manifest = {"title": "Pigeon", "id_pattern": ".*", "id_example": "ann", "keyd": True}
    (tmp_path / "channel.json").write_text(json.dumps(manifest), "utf-8")
    install_extensions(monkeypatch, channels={"pigeon": tmp_path})
    bound = {"channel": "pigeon", "chatId": "*", "agentId": WORK["agentId"]}
    texts = messages(parsed(WORK, channels={"pigeon": {}}, bindings=[bound]))
    (fault,) = [text for text in texts if "channel 'pigeon' cannot be used" in text]
    assert 'missing field "limit"; unknown field "keyd"' in fault
    (binding,) = [text for text in texts if "binding" in text]
    assert 'names the channel "pigeon", which cannot be used' in binding


def test_settings_of_our_own_are_in_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of strangers are not: the file of the schema ships with the program."""
    install_extensions(monkeypatch, own=(WeatherExtension(), ClockExtension()))
    made: Any = build_schema()
    assert made["$defs"]["WeatherSettings"]["properties"]["days"]["description"]
    assert "weather" in made["$defs"]["ExtensionSettings"]["properties"]
    assert "umbrella" in made["$defs"]["AgentDefinition"]["properties"]
    assert "clock" in made["$defs"]["Channels"]["properties"]
    install_extensions(monkeypatch, foreign=(WeatherExtension(),))
    assert "umbrella" not in json.dumps(build_schema())


@pytest.mark.parametrize(
    ("hook", "fault", "text"),
    [
        (
            "get_settings_model",
            ZeroDivisionError("division by zero"),
            "cannot be used: get_settings_model raised ZeroDivisionError: division by zero",
        ),
        ("check_agents_file", SystemExit("fog"), "its settings cannot be checked: SystemExit: fog"),
    ],
)
def test_fault_of_a_stranger_is_told_with_its_place_and_type(
    monkeypatch: pytest.MonkeyPatch, hook: str, fault: BaseException, text: str
) -> None:
    """Also one that would end the command."""

    def fail(*_: object) -> None:
        raise fault

    fail.__name__ = hook
    monkeypatch.setattr(WeatherExtension, hook, fail)
    assert text in messages(parsed(WORK, extensions={"weather": {}}))[0]


def test_problem_that_a_stranger_adds_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is a text is its fault: each letter would count as a name."""

    def check(_: Extension, draft: Draft, *__: object) -> None:
        draft.add_error(("extensions", "weather"), "no sky")
        draft.add_error("extensions", "no sea")  # type: ignore[arg-type]  # the fault

    monkeypatch.setattr(WeatherExtension, "check_agents_file", check)
    sky, sea = messages(parsed(WORK, extensions={"weather": {}}))
    assert "extension 'weather': no sky" in sky
    assert "TypeError: the path of a problem is a tuple" in sea
