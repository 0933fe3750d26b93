"""The environment of a worker: written by the supervisor, read by the worker."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.protocol.env import (
    INHERITED,
    ThinkerSettings,
    pack_start,
    select_inherited_variables,
    unpack_start,
)
from thinker.protocol.providers import PROVIDERS

# What an environment variable can hold: no NUL, no lone surrogate.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
PATHS = TEXT.map(lambda text: Path("/data") / text)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SETTINGS = st.builds(
    ThinkerSettings,
    agent_id=TEXT,
    llm_provider=st.sampled_from([*PROVIDERS, "unknown"]),
    model=TEXT,
    base_url=TEXT,
    fallback_models=st.lists(TEXT, max_size=3).map(tuple),
    temperature=FINITE,
    max_steps=st.integers(),
    effort=st.none() | st.integers(0, 99) | st.sampled_from(("off", "low", "medium", "high")),
    tool_calls=st.sampled_from(["native", "text", "auto"]),
    structured_output=st.sampled_from(["native", "text", "auto"]),
    prompt_layout=st.sampled_from(["system", "cached"]),
    system_prompt_path=st.none() | PATHS,
    persona_dir=st.none() | PATHS,
    skills_dirs=st.lists(PATHS, max_size=3).map(tuple),
    skills=st.lists(TEXT, max_size=3).map(tuple),
    polling_enabled=st.booleans(),
    user_timezone=TEXT,
    peer_fd=st.none() | st.integers(0, 1000),
    log_level=TEXT,
    cost_control_enabled=st.booleans(),
    cost_spike_multiplier=FINITE,
    small_model=TEXT,
    vision=st.sampled_from(["auto", "on", "off"]),
    recent_image_threshold=st.integers(),
    compaction_prompt_path=st.none() | PATHS,
    fact_extraction_enabled=st.booleans(),
    fact_extraction_max_turns=st.integers(),
    fact_extraction_prompt_path=st.none() | PATHS,
)


@given(SETTINGS)
def test_settings_come_back_from_the_environment_as_they_were(settings: ThinkerSettings) -> None:
    """Whatever a definition says, the worker reads the same."""
    assert ThinkerSettings.read(settings.to_env()) == settings


@given(SETTINGS, st.dictionaries(st.sampled_from(["GROQ_MODEL", "THINKER_MODEL"]), TEXT))
def test_other_providers_model_is_never_taken(
    settings: ThinkerSettings, other: dict[str, str]
) -> None:
    """An agent's own ``env`` may name the models of other providers."""
    assert ThinkerSettings.read({**other, **settings.to_env()}).model == settings.model


def test_names_are_the_seeds() -> None:
    """Operators and agents' ``env`` rely on these names."""
    settings = ThinkerSettings(
        agent_id="work",
        temperature=0.5,
        system_prompt_path=Path("/p.txt"),
        persona_dir=Path("/agents"),
        default_system_prompt_path=Path("/default.md"),
        user_timezone="Europe/Warsaw",
        cost_control_enabled=True,
        fact_extraction_prompt_path=Path("/facts.md"),
    )
    env = settings.to_env()
    expected = {
        "THINKER_AGENT_ID": "work",
        "THINKER_LLM_PROVIDER": "demo",
        "THINKER_TEMPERATURE": "0.5",
        "THINKER_SYSTEM_PROMPT_PATH": "/p.txt",
        "THINKER_PERSONA_DIR": "/agents",
        "THINKER_DEFAULT_SYSTEM_PROMPT_PATH": "/default.md",
        "THINKER_COST_CONTROL_ENABLED": "true",
        "THINKER_COST_SHORT_WINDOW_MINUTES": "2",
        "THINKER_COST_SPIKE_MULTIPLIER": "3.0",
        "THINKER_COST_HARD_CAP_PER_HOUR": "500000",
        "THINKER_FACT_EXTRACTION_ENABLED": "true",
        "THINKER_FACT_EXTRACTION_IDLE_MS": "300000",
        "THINKER_FACT_EXTRACTION_MAX_TURNS": "10",
        "THINKER_FACT_EXTRACTION_PROMPT_PATH": "/facts.md",
        "THINKER_POLLING_ENABLED": "false",
        "THINKER_SEND_RESPONSE_DIRECTLY": "false",
        "USER_TIMEZONE": "Europe/Warsaw",
    }
    assert env.items() >= expected.items()
    assert all(name.startswith("THINKER_") or name == "USER_TIMEZONE" for name in env)


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("groq", "GROQ_MODEL"),
        ("ollama", "OLLAMA_MODEL"),
        ("lmstudio", "LMSTUDIO_MODEL"),
        ("openai", "THINKER_MODEL"),
        ("anthropic", "THINKER_MODEL"),
    ],
)
def test_each_provider_has_its_own_variable_for_the_model(provider: str, variable: str) -> None:
    """Groq, Ollama and LM Studio have variables of their own."""
    assert ThinkerSettings(llm_provider=provider, model="m-1").to_env()[variable] == "m-1"
    environ = {"THINKER_LLM_PROVIDER": provider, variable: "m-1"}
    assert ThinkerSettings.read(environ).model == "m-1"


def test_unnamed_model_is_the_providers_default() -> None:
    """A model of one provider does not apply to another; a local server has no default."""
    named = {"OLLAMA_MODEL": "llama"}
    assert ThinkerSettings.read({"THINKER_LLM_PROVIDER": "groq", **named}).model == (
        PROVIDERS["groq"].default_model
    )
    assert ThinkerSettings.read({"THINKER_LLM_PROVIDER": "lmstudio", **named}).model == ""
    assert ThinkerSettings.read(named).model == "demo"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("THINKER_MAX_STEPS", "many", "max_steps"),
        ("THINKER_TOOL_CALLS", "magic", "tool_calls"),
        ("THINKER_SKILLS_DIRS", "/a:/b", "skills_dirs"),
        ("THINKER_SKILLS", "[unclosed", "skills"),
    ],
)
def test_value_of_the_wrong_form_is_named(name: str, value: str, problem: str) -> None:
    """Every mistake raises the same kind of error."""
    with pytest.raises(ValueError, match=f"(?i){problem}"):
        ThinkerSettings.read({name: value})


def test_only_the_given_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings built by the supervisor do not depend on its own environment."""
    monkeypatch.setenv("THINKER_AGENT_ID", "other")
    assert ThinkerSettings().agent_id == "thinker"
    assert ThinkerSettings.read({}).agent_id == "thinker"


def test_a_child_inherits_a_few_variables_and_no_key() -> None:
    """Everything else, secrets above all, stays with the supervisor."""
    kept = {"PATH": "/bin", "HOME": "/h", "LANG": "C", "TZ": "UTC", "LC_ALL": "C"}
    dropped = {"GROQ_API_KEY": "k", "PYTHONPATH": "/x", "LD_PRELOAD": "x", "THINKER_MODEL": "m"}
    assert select_inherited_variables({**kept, **dropped}) == kept


# Bytes that are no UTF-8 are lone surrogates in os.environ.
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0="), min_size=1)
VALUES = st.binary(max_size=20).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))


@given(st.dictionaries(NAMES, VALUES))
def test_forked_worker_reads_what_was_packed(env: dict[str, str]) -> None:
    """For every valid environment."""
    assert unpack_start(pack_start(Path("/some/where"), env)) == ("/some/where", env)


@pytest.mark.parametrize("env", [{"A": "b\0c"}, {"A\0": ""}])
def test_environment_that_cannot_be_is_refused(env: dict[str, str]) -> None:
    """A NUL would end a variable."""
    with pytest.raises(ValueError, match="null byte"):
        pack_start(Path("/"), env)


def test_exactly_these_variables_are_inherited() -> None:
    """One more could hold a secret, or change how a worker runs."""
    others = ("USER", "SHELL", "PWD", "TMPDIR", "LANGUAGE", "TERM", "LD_PRELOAD", "XDG_RUNTIME_DIR")
    names = {"PATH", "HOME", "LANG", "TZ", "LC_ALL", "LC_TIME"}
    assert {*select_inherited_variables(dict.fromkeys((*names, *others), "x"))} == names
    assert {*INHERITED} == names - {"LC_ALL", "LC_TIME"}


def test_record_has_no_address_but_whose_server_answers() -> None:
    """Nor has it keys or paths; hooks count only where they may run."""
    own = ThinkerSettings(
        llm_provider="openai",
        model="gpt-5",
        keys=("OPENAI_API_KEY",),
        hooks=("mine",),
        hooks_dir=Path("/hooks"),
        base_url="http://10.1.2.3/v1",
    )
    assert own.dump_for_record() == {
        "llm_provider": "openai",
        "model": "gpt-5",
        "hooks": ["mine"],
        "allow_hooks": True,
        "elsewhere": "other",
    }
    known = own.model_copy(update={"base_url": PROVIDERS["groq"].base_url, "hooks_dir": None})
    assert known.dump_for_record()["elsewhere"] == "groq"
    assert "allow_hooks" not in known.dump_for_record()
    usual = own.model_copy(update={"base_url": ""})
    assert "elsewhere" not in usual.dump_for_record()
