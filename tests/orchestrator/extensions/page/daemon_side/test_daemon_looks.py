"""The page's looks at the daemon read files as its machine does, never in the event loop."""

from collections.abc import Callable
from pathlib import Path

from fakes.set_up_home import SetUpHome

from orchestrator.extensions.page.daemon_side.daemon_looks import DaemonLooks
from orchestrator.extensions.page.daemon_side.page_protocol import LOG_TAIL, PROCESS_LIST, LogLines


async def test_files_are_read_by_the_machine(tmp_path: Path) -> None:
    """A simulated one has no threads, in which the order of events would be lost."""
    world = SetUpHome(tmp_path)
    done: list[str] = []

    async def run_here(function: Callable[..., object], *arguments: object) -> object:
        done.append(function.__name__)
        return function(*arguments)

    world.machine.off_loop = run_here
    methods = DaemonLooks(await world.start()).methods
    done.clear()
    log = world.settings.paths.log
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("one\ntwo\n", "utf-8")
    found = await methods[LOG_TAIL](None)
    assert isinstance(found, LogLines)
    assert found.lines == ("one", "two")
    await methods[PROCESS_LIST]({"pids": []})
    assert done == ["read_tail", "measure_processes"]
