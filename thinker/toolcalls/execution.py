"""Run the calls of one response: neighboring pure calls together, others in order."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

import anyio

from thinker.protocol.messages import SideEffect, ToolCall, ToolResult, ToolSpec


async def execute_calls(
    calls: Sequence[tuple[ToolCall, int]],
    known: Mapping[int, ToolResult],
    tools: Mapping[str, ToolSpec],
    run_call: Callable[[int], Awaitable[ToolResult]],
    *,
    parallel: bool = True,
) -> list[ToolResult]:
    """Return the results of calls, paired with their journal numbers, in order.

    ``known`` holds results of calls that must not run. Neighboring pure calls run together unless
    ``parallel`` is False. The first failure cancels the others and is raised unchanged.
    """
    results = dict(known)

    async def run_and_store(seq: int) -> None:
        results[seq] = await run_call(seq)

    group: list[int] = []
    for call, seq in calls:
        if seq in results:
            continue
        tool = tools.get(call.name)
        pure = tool is not None and tool.side_effect is SideEffect.PURE
        if pure and parallel:
            group.append(seq)
            continue
        await _run_together(run_and_store, group)
        group = []
        await run_and_store(seq)
    await _run_together(run_and_store, group)
    return [results[seq] for _, seq in calls]


async def _run_together(
    run: Callable[[int], Coroutine[None, None, None]], seqs: Sequence[int]
) -> None:
    if len(seqs) <= 1:
        for seq in seqs:
            await run(seq)
        return
    try:
        async with anyio.create_task_group() as tasks:
            for seq in seqs:
                tasks.start_soon(run, seq)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
