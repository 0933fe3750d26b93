"""What a daemon has loaded before its first message: what is not used takes no memory."""

import os
import signal
import sys
from pathlib import Path
from subprocess import PIPE

import anyio
import pytest
from anyio.streams.text import TextReceiveStream
from fakes.daemon import environment, write_config
from fakes.postgresql import POSTGRESQL
from fakes.time_limit import time_limit

pytestmark = pytest.mark.process
PROGRAM = """
import signal, sys
from orchestrator.cli.quick import run_quickly

def tell(*_):
    from pydantic import BaseModel
    todo, models = [BaseModel], set()
    while todo:
        models.update(found := todo.pop().__subclasses__())
        todo += found
    built = sum(model.__pydantic_complete__ for model in models)
    ours = [name for name in sys.modules if name.partition(".")[0] in ("orchestrator", "thinker")]
    print(built, len(models), *ours, flush=True)

signal.signal(signal.SIGUSR1, tell)
sys.exit(run_quickly(["run"]))
"""
USED_LATER = ("orchestrator.extensions.receipts.judging", "thinker.models", "thinker.loop")
MOST_MODULES = 670  # of the program; each takes some 50 kB
MOST_MODELS = 65  # whose validators are built; each takes some 40 kB


@pytest.mark.skipif(POSTGRESQL, reason="its driver is loaded as well")
async def test_idle_daemon_has_loaded_little_that_nothing_used(tmp_path: Path) -> None:
    """A higher number here must be worth its memory to every home."""
    write_config(tmp_path, {"agents": [{"agentId": "work", "llmProvider": "demo"}]})
    environ = {**environment(tmp_path, None, None), "PYTHONPATH": os.pathsep.join(sys.path)}
    with time_limit():
        process = await anyio.open_process(
            [sys.executable, "-c", PROGRAM], stdin=None, stdout=PIPE, stderr=PIPE, env=environ
        )
        assert process.stdout is not None
        assert process.stderr is not None
        async with process:
            told = ""
            async for text in TextReceiveStream(process.stderr):
                told += text
                if '"event":"ready"' in told:
                    break
            process.send_signal(signal.SIGUSR1)
            built, models, *modules = (await process.stdout.receive(1 << 20)).decode().split()
            process.terminate()
            async for _ in process.stderr:  # until it has ended
                pass
    assert not [name for name in modules if name.startswith(USED_LATER)]
    assert len(modules) <= MOST_MODULES
    assert int(built) <= MOST_MODELS < int(models)
