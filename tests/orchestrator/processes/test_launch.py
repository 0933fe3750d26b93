"""Launch specs: which endpoint, which environment, which files."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from fakes.agent_process import real_spec
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.agentsfile import AgentDefinition
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.broker.broker_wire import Grant
from orchestrator.files import write_private
from orchestrator.processes.launch import (
    Endpoint,
    LaunchSpec,
    build_launch_spec,
    resolve_endpoint,
    write_prompt,
)
from orchestrator.settings import Settings
from orchestrator.timezones import find_host_timezone
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.providers import PROVIDERS

KEYS = {p.key_var: f"key-of-{p.name}" for p in PROVIDERS.values() if p.key_var is not None}
OLLAMA = Endpoint("ollama", "llama", "http://127.0.0.1:9/v1")
CANARIES = {
    "TELEGRAM_BOT_TOKEN": "canary-1",
    "AWS_SECRET_ACCESS_KEY": "canary-2",
    "LD_PRELOAD": "canary-3",
    "PYTHONPATH": "canary-4",
    "HTTPS_PROXY": "canary-5",
    "ORCHESTRATOR_HOME": "canary-6",
    "THINKER_MODEL": "canary-7",
    "CREDENTIALS_DIRECTORY": "canary-8",
}


def list_models(spec: LaunchSpec) -> list[Grant]:
    """The addresses to which the agent may post, without those that tell a window."""
    return [grant for grant in spec.grants if not grant.probe]


def agent(**fields: object) -> AgentDefinition:
    """An agent of agents.json."""
    return AgentDefinition.model_validate({"agent_id": "work", **fields})


def test_auto_takes_the_first_key_then_a_local_server_then_demo() -> None:
    """In the order of the provider table; a model that is named is kept."""
    auto = agent(llm_provider="auto")
    left = dict(KEYS)
    for provider in PROVIDERS.values():
        if provider.key_var is not None and provider.default_model:
            expected = Endpoint(provider.name, provider.default_model)
            assert resolve_endpoint(auto, left, (OLLAMA,)) == expected
        left.pop(provider.key_var or "", None)
    assert (
        resolve_endpoint(auto, dict.fromkeys(KEYS, ""), (OLLAMA, Endpoint("lmstudio", "m")))
        == OLLAMA
    )
    assert resolve_endpoint(auto, {}, ()) == Endpoint("demo", "demo")
    named = agent(llm_provider="auto", model="mine")
    assert resolve_endpoint(named, KEYS, ()).model == "mine"
    assert resolve_endpoint(named, {}, (OLLAMA,)) == Endpoint("ollama", "mine", OLLAMA.base_url)


def test_auto_sees_a_key_in_the_agents_own_environment() -> None:
    """An agent may bring its own account."""
    own = agent(llm_provider="auto", env={"GROQ_API_KEY": "own"})
    assert resolve_endpoint(own, {}, (OLLAMA,)).provider == "groq"


def test_named_provider_is_taken_as_it_is() -> None:
    """Even if a key is set."""
    named = agent(llm_provider="openai", model="gpt", base_url="http://127.0.0.1:8/v1")
    assert resolve_endpoint(named, {}, (OLLAMA,)) == Endpoint(
        "openai", "gpt", "http://127.0.0.1:8/v1"
    )
    assert resolve_endpoint(agent(llm_provider="demo"), KEYS, ()) == Endpoint("demo", "demo")


@pytest.mark.parametrize("provider", [p.name for p in PROVIDERS.values()])
def test_worker_gets_no_key_but_the_name_of_its_providers(tmp_path: Path, provider: str) -> None:
    """No secret of the daemon is in its environment; the broker is granted its key alone."""
    own: dict[str, Any] = {"llm_provider": provider, "model": "m"}
    own |= {} if PROVIDERS[provider].base_url else {"base_url": "https://n.openai.azure.com"}
    spec = real_spec(tmp_path, environ=KEYS | CANARIES, **own)
    variable = PROVIDERS[provider].key_var
    text = "\0".join(f"{name}={value}" for name, value in spec.env.items())
    assert [value for value in (KEYS | CANARIES).values() if value in text] == []
    assert ThinkerSettings.read(spec.env).keys == (() if variable is None else (variable,))
    granted = {secret for grant in spec.grants for secret in grant.secrets}
    assert granted == (set() if variable is None else {f"key-of-{provider}"})
    assert bool(spec.grants) == (provider != "demo")


def test_broker_gets_the_keys_of_fallback_models(tmp_path: Path) -> None:
    """Only where a provider is named."""
    fallbacks = ("groq/qwen/qwen3-32b", "other-model", "nobody/x")
    spec = real_spec(
        tmp_path,
        environ=KEYS,
        llm_provider="openai",
        model="m",
        fallback_models=fallbacks,
        small_model="anthropic/small",
    )
    assert [(grant.url, grant.headers) for grant in list_models(spec)] == [
        ("https://api.openai.com/v1/chat/completions", {"authorization": "Bearer key-of-openai"}),
        (
            "https://api.groq.com/openai/v1/chat/completions",
            {"authorization": "Bearer key-of-groq"},
        ),
        (
            "https://api.anthropic.com/v1/messages",
            {"anthropic-version": "2023-06-01", "x-api-key": "key-of-anthropic"},
        ),
    ]


def test_broker_gets_the_key_of_embeddings(tmp_path: Path) -> None:
    """There is none for a server that is configured by its address."""

    def granted(**embeddings: object) -> tuple[Grant, ThinkerSettings]:
        spec = real_spec(
            tmp_path, environ=KEYS, llm_provider="groq", model="m", embeddings=embeddings
        )
        return list_models(spec)[-1], ThinkerSettings.read(spec.env)

    grant, read = granted(model="e", provider="openai", dimensions=256)
    assert (grant.url, grant.secrets) == (
        "https://api.openai.com/v1/embeddings",
        ("key-of-openai",),
    )
    assert (read.embeddings_model, read.embeddings_dimensions) == ("e", 256)
    grant, read = granted(model="e", baseUrl="http://[::1]:8/v1")
    assert (grant.url, grant.secrets) == ("http://[::1]:8/v1/embeddings", ())
    assert (read.keys, read.embeddings_base_url) == (("GROQ_API_KEY",), "http://[::1]:8/v1")


def test_broker_gets_the_addresses_of_sound_and_pictures(tmp_path: Path) -> None:
    """Recordings are sent as a form, linked pictures are fetched, sizes count no tokens."""
    place = {"provider": "openai", "model": "m"}
    spec = real_spec(
        tmp_path,
        environ=KEYS,
        llm_provider="groq",
        model="m",
        voice={"hear": place, "speak": {**place, "baseUrl": "http://[::1]:8/v1", "voice": "v"}},
        images={**place, "sizes": {"tall": "10x20"}},
    )
    found = {
        grant.url: (grant.form, grant.pictures, grant.counts) for grant in list_models(spec)[1:]
    }
    assert found == {
        "https://api.openai.com/v1/audio/transcriptions": (True, False, "stated"),
        "http://[::1]:8/v1/audio/speech": (False, False, "stated"),
        "https://api.openai.com/v1/images/generations": (False, True, "stated"),
    }
    assert {grant.secrets for grant in list_models(spec)[1:]} == {("key-of-openai",)}
    read = ThinkerSettings.read(spec.env)
    assert (read.hear, read.speak, read.draw) == (
        spec.settings.hear,
        spec.settings.speak,
        spec.settings.draw,
    )
    assert read.draw is not None
    assert read.draw.find_size("tall") == "10x20"


def test_key_that_no_header_can_carry_is_granted_to_nobody(tmp_path: Path) -> None:
    """The worker is told, and says so when it starts."""
    spec = real_spec(tmp_path, environ={"OPENAI_API_KEY": "a b"}, llm_provider="openai", model="m")
    assert [grant.headers for grant in list_models(spec)] == [{}]
    read = ThinkerSettings.read(spec.env)
    assert (read.keys, read.invalid_keys) == ((), ("OPENAI_API_KEY",))


def test_agents_own_variables_win_over_the_daemons(tmp_path: Path) -> None:
    """Its own key, its own locale; never the THINKER_ table."""
    environ = {"OPENAI_API_KEY": "daemon", "LANG": "C", "PATH": "p", "HOME": "h", "TZ": "UTC"}
    spec = real_spec(
        tmp_path,
        environ=environ,
        llm_provider="openai",
        model="m",
        env={"OPENAI_API_KEY": "own", "LANG": "de", "EXTRA": "1"},
    )
    names = ("OPENAI_API_KEY", "LANG", "EXTRA", "PATH", "HOME")
    chosen = {name: spec.env.get(name) for name in names}
    assert spec.grants[0].secrets == ("own",)
    assert chosen == {
        "OPENAI_API_KEY": None,
        "LANG": "de",
        "EXTRA": "1",
        "PATH": "p",
        "HOME": "h",
    }
    with pytest.raises(ValidationError):
        agent(llm_provider="demo", env={"THINKER_MODEL": "x"})


@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,20}", fullmatch=True), st.text(max_size=5)))
def test_only_allowed_variables_are_inherited(environ: dict[str, str]) -> None:
    """The daemon's own environment does not matter."""
    spec = build_launch_spec(
        agent(llm_provider="demo"), Settings(home=Path("/h")), Endpoint("demo", "demo"), environ
    )
    inherited = {"PATH", "HOME", "LANG", "TZ"}
    foreign = [
        name
        for name in spec.env
        if name not in inherited and not name.startswith(("LC_", "THINKER_", "USER_TIMEZONE"))
    ]
    assert foreign == []


def test_worker_reads_back_what_the_definition_says(tmp_path: Path) -> None:
    """From agents.json through the environment to the worker's settings."""
    spec = real_spec(
        tmp_path,
        environ={"USER_TIMEZONE": "Asia/Tokyo"},
        llm_provider="groq",
        model="m",
        temperature=0,
        max_steps=3,
        effort="high",
        system_prompt="Be brief.",
        skills=("a*",),
        limits={"maxTokensPerTurn": 9},
        cost_controls={"enabled": True, "hardCapTokensPerHour": 20_000},
    )
    read = ThinkerSettings.read(spec.env)
    assert (read.agent_id, read.llm_provider, read.model, read.temperature) == (
        "work",
        "groq",
        "m",
        0,
    )
    assert (read.effort, read.max_steps, read.skills, read.max_tokens_per_turn) == (
        "high",
        3,
        ("a*",),
        9,
    )
    assert (read.cost_control_enabled, read.cost_hard_cap_per_hour) == (True, 20_000)
    assert read.user_timezone == "Asia/Tokyo"
    assert read.system_prompt_path == spec.prompt_path
    assert read.default_system_prompt_path is not None
    assert read.default_system_prompt_path.is_file()
    default = ThinkerSettings.read(real_spec(tmp_path, timezone="Europe/Berlin").env)
    assert (default.temperature, default.user_timezone) == (0.4, "Europe/Berlin")
    assert default.system_prompt_path is None
    assert "-P" in spec.argv


def test_time_zone_comes_from_the_environment_or_the_machine() -> None:
    """USER_TIMEZONE, then TZ, then what the machine is set to."""
    assert find_host_timezone({"USER_TIMEZONE": "Asia/Tokyo", "TZ": "UTC"}) == "Asia/Tokyo"
    assert find_host_timezone({"TZ": ":Europe/Berlin"}) == "Europe/Berlin"
    assert find_host_timezone({})


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "a\n", "A", "", "a" * 65, "ä", "-a", "a\0"])
def test_agent_id_that_could_be_a_path_is_refused(name: str) -> None:
    """Prompt files and directories are named after it."""
    with pytest.raises(ValidationError):
        AgentDefinition.model_validate({"agent_id": name, "llm_provider": "demo"})


def test_prompt_file_is_private_and_goes_with_the_prompt(tmp_path: Path) -> None:
    """Also under an open umask; an agent without a prompt has no file."""
    spec = real_spec(tmp_path, system_prompt="Be brief. \ud800 ü")
    mask = os.umask(0)
    try:
        write_prompt(spec)
    finally:
        os.umask(mask)
    assert spec.prompt_path == tmp_path / "agent-prompts" / "work.txt"
    assert spec.prompt_path.read_text("utf-8") == "Be brief. ? ü"
    assert stat.S_IMODE(spec.prompt_path.stat().st_mode) == 0o600
    plain = real_spec(tmp_path)
    write_prompt(plain)
    write_prompt(plain)
    assert not spec.prompt_path.exists()


def test_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """A reader keeps the old file; a failure leaves the old file and no temporary one."""
    path = tmp_path / "file"
    write_private(path, b"old")
    with path.open("rb") as reader:
        write_private(path, b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_private(tmp_path / "folder", b"x")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


def test_own_skills_win_over_bundled_ones(tmp_path: Path) -> None:
    """The last directory of a name counts."""
    *_, shared, own = Settings(home=tmp_path).paths.list_skill_directories("work")
    assert (shared, own) == (tmp_path / "skills", tmp_path / "agents" / "work" / "skills")


@pytest.mark.parametrize(
    ("network", "hooks", "mode", "jail"),
    [
        (False, True, "auto", "on"),
        (True, False, "required", "on"),
        (True, True, "auto", "hook-network"),
        (True, True, "off", "off"),
    ],
)
def test_jail_is_open_only_as_far_as_agents_json_says(
    tmp_path: Path, *, network: bool, hooks: bool, mode: SandboxMode, jail: str
) -> None:
    """Hooks that may not run need no network."""
    spec = real_spec(tmp_path, sandbox=mode, hook_network=network, allow_hooks=hooks)
    assert (spec.env["THINKER_SANDBOX"], spec.sandbox) == (jail, mode)


def test_own_default_prompt_and_personas_reach_the_worker(tmp_path: Path) -> None:
    """What the environment names comes before the files of the home."""
    in_home = {name: tmp_path / name for name in ("default-system-prompt.md", "fact-extraction.md")}
    named = {
        "THINKER_DEFAULT_SYSTEM_PROMPT_PATH": "/d.md",
        "THINKER_FACT_EXTRACTION_PROMPT_PATH": "/f.md",
        "THINKER_PERSONA_DIR": "/p",
    }
    for environ, paths in (
        ({}, (*in_home.values(), tmp_path / "agents")),
        (named, (Path("/d.md"), Path("/f.md"), Path("/p"))),
    ):
        settings = Settings.read_environ({"ORCHESTRATOR_HOME": str(tmp_path), **environ})
        definition, demo = agent(llm_provider="demo"), Endpoint("demo", "demo")
        spec = build_launch_spec(definition, settings, demo, {}, in_home)
        worker = ThinkerSettings.read(spec.env)
        assert paths == (
            worker.default_system_prompt_path,
            worker.fact_extraction_prompt_path,
            worker.persona_dir,
        )
