"""One real worker process: readiness, turns, misbehavior, and an end without leftovers."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from fakes.agent_process import (
    BOTH_MODES,
    READY,
    MemoryHost,
    alive,
    program,
    real_spec,
    spawning,
    turn,
)
from fakes.inspection import looks_inside
from fakes.time_limit import LIMIT, time_limit

from orchestrator.errors import WorkerError, WorkerLostError
from orchestrator.processes.worker import run_worker
from orchestrator.tools.builtin.clock import get_time
from thinker.protocol import methods
from thinker.protocol.messages import ToolResult
from thinker.protocol.methods import NOT_KEPT, StopReason
from thinker.protocol.prompt_record import PromptPreview

pytestmark = pytest.mark.process


ANSWERS = """
import json
def serve(answer):
    for line in wire.makefile("rb"):
        frame = json.loads(line)
        if frame.get("method") == "turn/run":
            wire.send(answer(frame))
"""  # a worker that answers a turn with whatever bytes


def variables(pid: int) -> set[str]:
    """The names in a process's environment, as the kernel shows it."""
    entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {entry.split(b"=")[0].decode() for entry in entries if entry}


def descriptors() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@BOTH_MODES
async def test_worker_runs_a_turn_and_leaves_nothing(tmp_path: Path, mode: str) -> None:
    """Steps and calls come to the turn's host; the process is reaped at the end."""

    async def noon(seq: int) -> ToolResult:
        assert seq == 2
        return ToolResult(call_id="demo_0", name="get_time", content="noon")

    host = MemoryHost(noon)
    with time_limit():
        async with spawning(mode) as spawn, run_worker(real_spec(tmp_path), spawn) as worker:
            assert worker.is_usable
            assert os.getsid(worker.pid) == worker.pid
            run = turn("t1", "what time is it?", get_time.spec)
            result = await worker.run_turn(run, host, 0.0)
            assert worker.turns == {}
    assert (result.stop_reason, result.steps) == (StopReason.DONE, 2)
    assert "noon" in result.text
    assert len(host.commits) == 2
    assert (worker.code, worker.is_usable, alive(worker.pid)) == (0, False, False)
    worker.signal(signal.SIGKILL)  # to a process that has ended: nothing happens


@looks_inside
async def test_worker_has_no_environment_but_that_of_its_spec(tmp_path: Path) -> None:
    """It has no variable of the daemon's own."""
    with time_limit():
        async with run_worker(real_spec(tmp_path)) as worker:
            names = variables(worker.pid)
    assert names - {"THINKER_PEER_FD"} == set(worker.spec.env)


async def test_worker_that_does_not_keep_what_turns_share_is_sent_it_again(tmp_path: Path) -> None:
    """No turn fails or loses its tools."""
    code = f"""{READY}{ANSWERS}
def answer(frame):
    run, answer = frame["params"], {{"id": frame["id"]}}
    if run["kept"]:
        answer["error"] = {{"code": {NOT_KEPT}, "message": ""}}
    else:
        names = [tool["name"] for tool in run["tools"]]
        answer["result"] = {{"result": {{"text": str(names), "stop_reason": "done"}}}}
    return json.dumps(answer).encode() + b"\\n"
serve(answer)
"""
    with time_limit():
        async with run_worker(program(tmp_path, code)) as worker:
            for number in range(3):
                run = turn(f"t{number}", "hello", get_time.spec)
                assert (await worker.run_turn(run, MemoryHost(), 0.0)).text == "['get_time']"


@BOTH_MODES
async def test_worker_shows_a_prompt_without_a_model(tmp_path: Path, mode: str) -> None:
    """`orchestrator prompt show` uses this request."""
    spec = real_spec(tmp_path, system_prompt="Be brief.")
    with time_limit():
        spec.prompt_path.write_text("Be brief.", "utf-8")
        async with spawning(mode) as spawn, run_worker(spec, spawn) as worker:
            prompt = await worker.peer.call(
                methods.PROMPT_PREVIEW, turn(), PromptPreview, timeout=LIMIT
            )
    assert prompt.record.layers[0].text == "Be brief."


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(78)", 78),
        ("raise SystemExit(0)", 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9),
    ],
)
async def test_worker_that_ends_before_it_is_ready_is_an_error(
    tmp_path: Path, code: str, expected: int
) -> None:
    """With its exit status, or minus the signal."""
    with time_limit(), pytest.raises(WorkerError, match="see its log") as caught:
        async with run_worker(program(tmp_path, code)):
            pass
    assert caught.value.code == expected


@BOTH_MODES
async def test_worker_that_cannot_be_started_is_an_error(tmp_path: Path, mode: str) -> None:
    """A missing program or directory, a value that no environment can hold."""
    spec = real_spec(tmp_path)
    with time_limit():
        async with spawning(mode) as spawn:
            for bad in (
                replace(spec, argv=(str(tmp_path / "missing"),)),
                replace(spec, cwd=tmp_path / "missing"),
                replace(spec, variables={"A": "a\0b"}),
            ):
                with pytest.raises(WorkerError, match=r"agent 'work' cannot (be started|start)"):
                    async with run_worker(bad, spawn):
                        pass


@BOTH_MODES
async def test_error_of_the_user_of_a_worker_comes_out_as_it_is(tmp_path: Path, mode: str) -> None:
    """Not in an exception group, and the process is gone all the same."""
    with time_limit():
        async with spawning(mode) as spawn:
            with pytest.raises(ValueError, match="mine"):
                async with run_worker(real_spec(tmp_path), spawn) as worker:
                    raise ValueError("mine")
            assert not alive(worker.pid)


@pytest.mark.parametrize(
    "answer",
    [
        'b\'{"jsonrpc":"2.0","id":%d,"result":{"text":5}}\\n\' % frame["id"]',
        'b\'{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"boom"}}\\n\' % frame["id"]',
    ],
)
async def test_answer_that_is_none_is_our_error(tmp_path: Path, answer: str) -> None:
    """Of the wrong form, or a failure of the worker: the process is still there."""
    code = f"{READY}{ANSWERS}serve(lambda frame: {answer})"
    with time_limit():
        async with run_worker(program(tmp_path, code)) as worker:
            with pytest.raises(WorkerError, match="agent 'work'") as caught:
                await worker.run_turn(turn(), MemoryHost(), 0.0)
            assert not isinstance(caught.value, WorkerLostError)
            assert worker.is_usable


async def test_requests_of_a_turn_that_is_not_run_are_refused(tmp_path: Path) -> None:
    """A worker cannot write into another turn (invariant 14)."""
    code = f"""{READY}
import json
wire.send(b'{{"jsonrpc":"2.0","id":1,"method":"tool/call","params":{{"turn_id":"x","seq":1}}}}\\n')
wire.send(b'{{"jsonrpc":"2.0","method":"turn/delta","params":{{"turn_id":"x","text":"y"}}}}\\n')
lines = wire.makefile("rb")
frames = [json.loads(lines.readline()) for _ in ("the answer", "the drain")]
(answer,) = [frame for frame in frames if "id" in frame]
raise SystemExit(3 if answer["error"]["code"] == -32001 else 4)
"""
    with time_limit():
        async with run_worker(program(tmp_path, code)) as worker:
            # It ends only now: an end before it counts as ready is another case.
            worker.request_drain()
            await worker.exited.wait()
    assert worker.code == 3


async def test_turn_far_over_its_deadline_has_its_worker_aborted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its stack is dumped, and the turn ends with `WorkerLostError`."""
    code = f"import faulthandler; faulthandler.enable()\n{READY}\nimport signal; signal.pause()"
    with time_limit():
        async with run_worker(program(tmp_path, code)) as worker:
            worker.turn_grace = 0.0
            overdue = turn().model_copy(update={"deadline": 0.0})
            with pytest.raises(WorkerLostError, match="hung"):
                await worker.run_turn(overdue, MemoryHost(), 1.0)
            assert not worker.is_usable
            await worker.exited.wait()
    assert worker.code == -signal.SIGABRT
    assert "most recent call first" in capfd.readouterr().err


async def test_stubborn_worker_is_killed_with_its_group(tmp_path: Path) -> None:
    """It ignores end-of-file and SIGTERM; its child would outlive it."""
    pid_file = tmp_path / "pid"
    code = f"""
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([{sys.executable!r}, "-c", "import signal; signal.pause()"])
open({str(pid_file)!r}, "w").write(str(child.pid))
{READY}
signal.pause()
"""
    with time_limit():
        async with run_worker(program(tmp_path, code)) as worker:
            watch = os.pidfd_open(int(pid_file.read_text("utf-8")))
        await anyio.wait_readable(watch)
        os.close(watch)
    assert worker.code == -signal.SIGKILL
    assert not alive(worker.pid)


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """A daemon that starts workers for months must not run out of them."""
    before = descriptors()
    with time_limit():
        for _ in range(3):
            with pytest.raises(WorkerError):
                async with run_worker(program(tmp_path, "raise SystemExit(1)")):
                    pass
            async with run_worker(program(tmp_path, f"{READY}wire.recv(1)")):
                pass
    assert descriptors() <= before
