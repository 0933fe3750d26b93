"""The daemon's settings, read from its environment.

``.env`` files are never read: anyone who can write to the working directory could change the
daemon with one. Keys come from ``keys.env`` in the home, which `keys_file` reads.
"""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.sources import EnvSettingsSource

from orchestrator.errors import ConfigError
from orchestrator.home_paths import Paths, find_bundled_path
from orchestrator.journal_address import SCHEMES, DatabaseServer, JournalAddress

PREFIX = "ORCHESTRATOR_"
TOKEN = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - a variable's name
WORDS = {
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number, such as 20",
    "string_pattern_mismatch": "must be an address that begins with http:// or https://",
}
DEFAULT_PROMPT = "default-system-prompt.md"
COMPACTION, FACT_EXTRACTION = "compaction.md", "fact-extraction.md"
SMALL_PROMPT = "small-system-prompt.md"  # of agents with the profile "small"
TEMPLATES = (COMPACTION, FACT_EXTRACTION, DEFAULT_PROMPT, SMALL_PROMPT)  # a home may replace them


def _require_absolute(value: Path) -> Path:
    try:
        return value.expanduser().absolute()
    except RuntimeError:
        raise ValueError("cannot be expanded; set HOME or write the whole path") from None


def _require_postgresql(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith(SCHEMES):
        raise ValueError("must begin with postgresql://; without it, the journal is a file")
    return value


WholePath = Annotated[Path, AfterValidator(_require_absolute)]


class Settings(BaseSettings):
    """Settings from the environment; all others are in agents.json."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, populate_by_name=True, validate_default=True
    )

    home: WholePath = Path("~/.orchestrator")
    """Directory with the journal, agents.json, prompts and skills."""
    config: WholePath | None = None
    """The agents.json to use; by default the one in the home, or else the bundled one."""
    store: Annotated[SecretStr, AfterValidator(_require_postgresql)] | None = None
    """Database of the journal, such as postgresql://user@host/name; by default an SQLite file."""
    node_url: str = Field("", pattern=r"^(https?://\S+)?$")
    """Where other daemons on the database reach this one; they work together if each has it."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level of the log lines on standard error."""
    drain_seconds: float = Field(20, ge=0, le=600)
    """Seconds that a stop waits for turns to reach their next step boundary."""
    spawn: Literal["zygote", "exec"] = "zygote"
    """How workers start: forked from a prepared process, or each executed anew."""
    max_workers: int | None = Field(None, ge=1)
    """Workers alive at a time; by default as many as fit into half of the memory, at 8 MB each."""
    api_port: int | None = Field(None, ge=0, le=65535)
    """Port of the OpenAI-compatible endpoints; by default `channels.api.port` of agents.json."""
    fast_tasks: bool = False
    """Whether tasks may be due more than once a minute; for tests of this program."""
    telegram_bot_token: SecretStr | None = Field(None, validation_alias=TOKEN)
    """The bot's token; without it Telegram is off. Those of accounts end in `_NAME`."""
    telegram_api_url: str = Field(
        "https://api.telegram.org", validation_alias="TELEGRAM_API_URL", pattern=r"^https?://\S+$"
    )
    """Address of the Bot API server."""
    default_system_prompt_path: WholePath | None = Field(
        None, validation_alias="THINKER_DEFAULT_SYSTEM_PROMPT_PATH"
    )
    """File with the base prompt of agents without their own; by default one in the home."""
    fact_extraction_prompt_path: WholePath | None = Field(
        None, validation_alias="THINKER_FACT_EXTRACTION_PROMPT_PATH"
    )
    """File with the prompt for facts; by default one in the home, or else the bundled one."""
    persona_dir: WholePath | None = Field(None, validation_alias="THINKER_PERSONA_DIR")
    """Directory with `<agentId>/instructions.md`; by default `agents` in the home."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the arguments; `read_environ` takes them from the given environment."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @classmethod
    def read_environ(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the settings from ``environ``; an empty variable counts as unset.

        Raises:
            ConfigError: a variable has an invalid value.
        """
        source = EnvSettingsSource(cls, env_prefix=PREFIX)
        source.env_vars = {key.lower(): value for key, value in environ.items() if value}
        values = source()
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError("\n".join(format_errors(error))) from None

    @cached_property
    def paths(self) -> Paths:
        return Paths(self.home)

    @property
    def journal(self) -> JournalAddress:
        """The address of the journal."""
        if self.store is None:
            return self.paths.journal
        return DatabaseServer(self.store.get_secret_value(), self.paths.journal, self.node_url)

    @property
    def personas(self) -> Path:
        """The directory of ``<agentId>/instructions.md``, the agents' personas."""
        return self.persona_dir or self.paths.personas

    @property
    def named_prompts(self) -> tuple[Path, ...]:
        """The files that the environment names instead of those in the home."""
        named = self.default_system_prompt_path, self.fact_extraction_prompt_path
        return tuple(path for path in named if path is not None)

    def find_default_prompt(self) -> "DefaultPrompt":
        """Return the current base prompt of agents that have none of their own."""
        if self.default_system_prompt_path is not None:
            return DefaultPrompt(self.default_system_prompt_path, "environment")
        own = self.paths.prompts / DEFAULT_PROMPT
        if os.path.lexists(own):  # also for a dangling link, which must be reported
            return DefaultPrompt(own, "home")
        return DefaultPrompt(find_bundled_path("prompts") / DEFAULT_PROMPT, "bundled")

    def find_agents_file(self) -> Path:
        """Return the file of ORCHESTRATOR_CONFIG, or the home's, or the bundled one.

        A home that once had a file never uses the bundled one, even if its file was lost.
        """
        in_home = self.home / "agents.json"
        # Also if it is a dangling link, which must be reported.
        used = os.path.lexists(in_home) or os.path.lexists(self.paths.last_good)
        return self.config or (in_home if used else find_bundled_path("config") / "agents.json")


VARIABLES = frozenset(
    field.validation_alias if isinstance(field.validation_alias, str) else PREFIX + name.upper()
    for name, field in Settings.model_fields.items()
)
"""Each variable of the environment that is a setting."""


class DefaultPrompt(NamedTuple):
    """The file with the base prompt of agents without their own, and what chose it."""

    path: Path
    source: Literal["environment", "home", "bundled"]


def format_errors(error: ValidationError) -> list[str]:
    """Return the problem of each variable, without values that may be secrets."""
    lines = []
    for detail in error.errors(include_url=False):
        name = str(detail["loc"][0])
        variable = name if name.isupper() else f"{PREFIX}{name.upper()}"
        message = WORDS.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
        message = message.replace("Input should", "must")
        if detail["type"] == "literal_error":  # other values may be secrets
            message += f", not {detail['input']!r}"
        lines.append(f"{variable}: {message}")
    return lines
