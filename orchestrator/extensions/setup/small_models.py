"""Models of this machine: how much they read at once, and the small one that can be downloaded."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer
from pydantic import JsonValue

from orchestrator.errors import ConfigError, OrchestratorError
from orchestrator.extensions.setup.model_account import LOCAL, ModelAccount
from orchestrator.extras import explain_missing_extension
from orchestrator.installed import list_names
from thinker.protocol.messages import JsonObject

if TYPE_CHECKING:
    import httpx

EXTENSION = "local_model"  # which has that server
LOCAL_WINDOW = 4096  # tokens, unless agents.json says otherwise
OLLAMA_WINDOW = 4096  # tokens, if nothing sets num_ctx and the graphics memory is below 24 GiB
SMALL_WINDOW = 8192  # tokens; up to here, the usual tools and prompt leave too little
NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)  # in Ollama's list of parameters


async def read_window(client: "httpx.AsyncClient", account: ModelAccount, model: str) -> int | None:
    """Return how many tokens a model of a local server reads at once; None if it does not say.

    Raises:
        httpx.HTTPError: the server does not answer.
    """
    if account.provider.name == LOCAL:
        return LOCAL_WINDOW
    root = urlsplit(account.url)._replace(path="", query="").geturl()
    props = await _fetch(client, f"{root}/props")  # llama.cpp
    found = _find_number(_get(props, "default_generation_settings"), "n_ctx")
    for url in (f"{root}/api/ps", f"{root}/api/v0/models", f"{account.url}/models"):
        if found is None:
            found = _find_listed_window(await _fetch(client, url), model)
    if found is None and await _fetch(client, f"{root}/api/tags") is not None:  # Ollama
        shown = await _fetch(client, f"{root}/api/show", {"model": model})
        if shown is not None:
            said = NUM_CTX.search(str(_get(shown, "parameters") or ""))
            found = int(said[1]) if said else OLLAMA_WINDOW
    return found


def fetch_local_model(home: Path, *, ask: bool) -> None:
    """Download the small model, as its command does.

    Raises:
        ConfigError: the extension is not installed.
        OrchestratorError: nothing was downloaded.
    """
    if EXTENSION not in list_names():
        raise ConfigError(f"a model of this machine needs {explain_missing_extension(EXTENSION)}")
    command = [sys.executable, "-P", "-m", "orchestrator", "local-model", "--home", str(home)]
    done = subprocess.run([*command, *([] if ask else ["--yes"])], check=False)
    if done.returncode:
        raise OrchestratorError("nothing was written, as the model is not there")


def show_prompt_size(home: Path, agent_id: str, window: int) -> None:
    """Print how much of a window an agent's prompt takes, if `orchestrator prompt` is installed."""
    command = [sys.executable, "-P", "-m", "orchestrator", "prompt", "show", agent_id, "--json"]
    done = subprocess.run([*command, "--home", str(home)], capture_output=True, check=False)
    said = re.search(rb'"tokens": (\d+)', done.stdout)
    if said and not done.returncode:
        tokens = int(said[1])
        share = round(100 * tokens / window)
        typer.echo(f"each prompt begins with about {tokens} tokens, {share}% of the window")


async def _fetch(
    client: "httpx.AsyncClient", url: str, body: JsonObject | None = None
) -> JsonValue:
    """Return the JSON at an address; None where there is none."""
    answer = await (client.get(url) if body is None else client.post(url, json=body))
    try:
        value: JsonValue = answer.json() if answer.is_success else None
    except ValueError:
        return None
    return value


def _find_listed_window(listed: JsonValue, model: str) -> int | None:
    """Return the window of a model in a list of LM Studio, vLLM or the models that Ollama runs."""
    for entry in _iter_models(listed):
        names = (entry.get(key) for key in ("id", "name", "model"))
        if model in names:
            keys = ("loaded_context_length", "context_length", "max_model_len")
            found = (_find_number(entry, key) for key in (*keys, "max_context_length"))
            return next((number for number in found if number), None)
    return None


def _iter_models(listed: JsonValue) -> Iterator[JsonObject]:
    for key in ("data", "models"):
        entries = _get(listed, key)
        yield from (
            (one for one in entries if isinstance(one, dict)) if isinstance(entries, list) else ()
        )


def _find_number(value: JsonValue, key: str) -> int | None:
    found = _get(value, key)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


def _get(value: JsonValue, key: str) -> JsonValue:
    return value.get(key) if isinstance(value, dict) else None
