"""Serve one model with OpenAI's API on this machine, until standard input ends.

    python -P -m orchestrator.extensions.local_model.llama_server FILE PORT TOKENS THREADS

The exit code is 3 if llama.cpp is not installed, and 4 if it cannot serve the file.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

LIBRARY = "xllamacpp"
ADDRESS = "127.0.0.1"  # never another: the server asks for no key
MISSING, UNUSABLE = 3, 4


def serve_model(file: Path, port: int, tokens: int, threads: int) -> int:
    """Serve until the daemon ends, however it does; return an exit code."""
    try:
        llama = import_module(LIBRARY)
    except ImportError:
        return MISSING
    params = llama.CommonParams()
    params.model.path = str(file)
    params.model_alias = {file.stem}
    params.hostnames = [ADDRESS]
    params.port = port
    params.n_ctx = tokens
    params.n_parallel = 1
    params.use_jinja = True
    params.endpoint_props = True
    params.warmup = False
    for cores in (params.cpuparams, params.cpuparams_batch):
        cores.n_threads = threads
    try:
        server = llama.Server(params)
    except Exception:  # noqa: BLE001 - whatever the library says, on stderr, the file does not work
        return UNUSABLE
    sys.stdin.buffer.read()
    del server
    return 0


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    # Threads of the library would keep the process alive.
    os._exit(serve_model(Path(name), *map(int, numbers)))
