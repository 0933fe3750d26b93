"""Seeded bugs: what the crash self-test has to find, each put into a copy of the package."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.extensions.selftest.crash.scenario import (
    FAILING,
    PAIRING,
    STANDARD,
    Scenario,
    Script,
    make_scenario,
)

ROOT = Path(__file__).parents[2]
PACKAGES = ("orchestrator", "thinker")
DATA = ("config", "prompts", "skills")
SPLIT = """
    import apsw
    from contextlib import suppress
    from orchestrator.failpoints import failpoint
    shared = False  # with other jobs, each in a savepoint
    with suppress(apsw.SQLError):
        shared = db.execute("RELEASE job") is not None
    db.execute("COMMIT")
    failpoint("split:after")
    db.execute("BEGIN IMMEDIATE")
    shared and db.execute("SAVEPOINT job")
"""


@dataclass(frozen=True)
class Mutant:
    """A bug, as ``before`` → ``after`` in a file, and histories in which a check has to find it.

    ``hangs``: with it a daemon may never settle.
    """

    name: str
    found_by: str
    file: str
    before: str
    after: str
    histories: tuple[str, ...]
    scenario: Scenario = field(default_factory=lambda: STANDARD)
    hangs: bool = False


def planted(mutant: Mutant, folder: Path) -> Path:
    """A copy of the product with this bug, for PYTHONPATH."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name)
    for name in DATA:
        (folder / name).symlink_to(ROOT / name)
    path = folder / "orchestrator" / mutant.file
    source = path.read_text("utf-8")
    assert source.count(mutant.before) == 1, f"{mutant.name}: {mutant.file} has changed; adapt it"
    path.write_text(source.replace(mutant.before, mutant.after), "utf-8")
    return folder


# One chat each, so that every run comes to the same boundaries in the same order.
ONE_TOOL = make_scenario(Script("one", 101, (("store_fact",),)))
ONE_QUEUE = make_scenario(
    Script("one", -105), Script("two", -105, follows="one"), Script("three", -105, follows="one")
)
ONE_EFFECT = make_scenario(Script("one", 101, (("selftest_effect",),)))
ONE_SUBAGENT = make_scenario(
    Script("one", 101, (("spawn_subagent",),), work="two"),
    Script("two", 101, (("selftest_effect",), *((("get_time",),) * 6))),  # long enough to be asked
)
ONE_KEYED = make_scenario(Script("one", 101, (("selftest_keyed",),)))
ONE_WORD = make_scenario(Script("one", 101, (("selftest_keyed",),), decision="approve"))
ONE_TASK = make_scenario(Script("one", 101, (("schedule_task",),), work="two"), Script("two", 101))

MUTANTS = (
    Mutant(
        "updates are confirmed before they are stored",
        "lost",
        "extensions/telegram/reception.py",
        "        answers = await self._intake.accept(messages, offset)\n",
        "        await self._api.fetch_updates(offset, updates.KINDS, 0)\n"
        "        answers = await self._intake.accept(messages, offset)\n",
        ("supervisor@ingest:before#1",),
    ),
    Mutant(
        "T3 in two transactions",
        "calls (8)",
        "journal/turns/steps.py",
        "    for number, call in enumerate(commit.calls, seq + 1):\n",
        f"{SPLIT}    for number, call in enumerate(commit.calls, seq + 1):\n",
        ("supervisor@split:after#1",),
        ONE_TOOL,
    ),
    Mutant(
        "no T4",
        "journal (2-15)",
        "journal/turns/steps.py",
        "UPDATE step SET state = 'intent', epoch = ?1, t_intent = ?2",
        "UPDATE step SET state = 'planned', epoch = ?1, t_intent = ?2 * NULL",
        ("supervisor@effect:after#1",),
        ONE_EFFECT,
    ),
    Mutant(
        "a result is stored before its effect",
        "forgotten",
        "journal/turns/steps.py",
        "    return finish(db, call, effect(db), now)\n",
        "    stored = ToolResult(call_id=call.call_id, name=call.name, content='ok')\n"
        f"    stored = finish(db, call, stored, now)\n{SPLIT}    effect(db)\n    return stored\n",
        ("supervisor@split:after#1",),
        ONE_TOOL,
    ),
    Mutant(
        "a chat is let in before its messages are",
        "lost",
        "journal/access/pairing.py",
        "    answers = held_messages.release(",
        f"{SPLIT}    answers = held_messages.release(",
        ("supervisor@split:after#1",),
        PAIRING,
    ),
    Mutant(
        "an outbox row is closed before the receipt",
        "lost",
        "outbound/chat_queue.py",
        '        with limit_call("send", ',
        "        await store.transact(outbox.mark_delivered, row, None, platform.clock())\n"
        '        with limit_call("send", ',
        tuple(f"supervisor@send:before#{number}" for number in range(1, 4)),
    ),
    Mutant(
        "T6 in two transactions",
        "journal (2-15)",
        "journal/turns/turns.py",
        '    _end(db, turn, "replied", *end, now)\n',
        f'    _end(db, turn, "replied", *end, now)\n{SPLIT}',
        ("supervisor@split:after#1",),
        hangs=True,
    ),
    Mutant(
        "a placeholder counts as delivered",
        "lost",
        "journal/turns/outbox.py",
        " ELSE 'ph_sent' END\"\n"
        "        \" WHERE (state = 'ph_sending' OR state = 'sending' AND ph_id IS NOT NULL)",
        " ELSE 'delivered' END\"\n"
        "        \" WHERE mode = 'edit' AND state IN('ph_sending','ph_sent','sending')",
        ("supervisor@mark_placeholder_sent:after#1", "supervisor@edit:before#1"),
        hangs=True,
    ),
    Mutant(
        "not modified is a failure",
        "outbox (11)",
        "extensions/telegram/adapter.py",
        "            if not error.is_unchanged:\n                raise\n",
        "            raise\n",
        ("supervisor@edit:after#1",),
    ),
    Mutant(
        "a direct message is sent again blindly",
        "duplicate (12)",
        "journal/turns/outbox.py",
        'mark_unconfirmed(db, row.id, "the process stopped while sending", now, now)\n',
        'requeue(db, row.id, "the process stopped while sending", 0)\n',
        tuple(f"supervisor@send:after#{number}" for number in range(2, 9)),
    ),
    Mutant(
        "a reply whose receipt was lost is sent again blindly",
        "duplicate (12)",
        "outbound/chat_queue.py",
        '            if row.mode == "edit" and row.lost:\n',
        '            if row.mode == "edit" and row.lost and row.attempt == 0:\n',
        tuple(f"supervisor@send:after#{number}" for number in range(1, 5)),
    ),
    Mutant(
        "the newest message first",
        "order (4)",
        "journal/turns/inbox.py",
        'NOT EXISTS({running}) ORDER BY id LIMIT 1"',
        'NOT EXISTS({running}) ORDER BY id DESC LIMIT 1"',
        ("supervisor@reply:after#1",),
        ONE_QUEUE,
    ),
    Mutant(
        "a preview does not wait",
        "places (23)",
        "journal/turns/outbox.py",
        'ORDER BY msg_id IS NOT NULL, id LIMIT 1"',
        'ORDER BY msg_id IS NOT NULL, final, id LIMIT 1"',
        ("supervisor@reply:after#7", "supervisor@requeue:after#1"),
        FAILING,
    ),
    Mutant(
        "a start does not raise the epoch",
        "starts (14)",
        "journal/db/liveness.py",
        "AS BIGINT) + 1 AS TEXT)",
        "AS BIGINT) + 0 AS TEXT)",
        ("supervisor@plan:after#1",),
    ),
    Mutant(
        "open turns are not adopted",
        "lost",
        "journal/turns/turns.py",
        'FROM turn WHERE {OPEN}").fetchall()',
        "FROM turn WHERE state IN('waiting')\").fetchall()",
        ("supervisor@plan:after#1",),
        hangs=True,
    ),
    Mutant(
        "deaths are not counted",
        "claims",
        "journal/turns/turns.py",
        '    db.execute("UPDATE inbox SET claims = claims + 1 WHERE turn_id = ?", (turn_id,))\n',
        "",
        ("worker@run_turn:before#1",),
        ONE_QUEUE,
    ),
    Mutant(
        "a call of unknown outcome runs again",
        "double effect (6)",
        "journal/turns/steps.py",
        "        if call.side_effect in repeatable:\n",
        "        if call.side_effect:\n",
        ("supervisor@effect:after#1",),
        ONE_EFFECT,
    ),
    Mutant(
        "the key of a call changes with the process",
        "double effect (6)",
        "extensions/mcp_client/mcp_tools.py",
        "{**arguments, KEY: key}",
        "{**arguments, KEY: f\"{key} {__import__('os').getpid()}\"}",
        ("supervisor@effect:after#1",),
        ONE_KEYED,
    ),
    Mutant(
        "a subagent that works is begun once more by the next process",
        "double effect (6)",
        "tools/builtin/host_tool.py",
        "        return self.start(db, context, call) if run is None else self.result(db, run)\n",
        "        if run is not None and not run.has_ended:\n"
        "            from dataclasses import replace\n"
        "            from orchestrator.journal.turns import inbox, internal_messages\n"
        "            again = replace(call, seq=call.seq + 1)\n"
        "            name = subagents.create(db, again, context.agent_id, run.spec, context.now)\n"
        "            work = internal_messages.InternalMessage(\n"
        "                inbox.SUBAGENT, name, name, context.agent_id, 'two'\n"
        "            )\n"
        "            queue = subagents.QUEUE + name\n"
        "            row = internal_messages.post(db, context.address, work, context.now, queue)\n"
        "            change = 'SET subagent_id = ?, inbox_id = ? WHERE inbox_id = ?'\n"
        "            db.execute('UPDATE subagent_run ' + change, (name, row, run.inbox_id))\n"
        "        return self.start(db, context, call) if run is None else self.result(db, run)\n",
        ("supervisor@finish:after#1",) * 4,  # its work may be done before it is looked for
        ONE_SUBAGENT,
        hangs=True,
    ),
    Mutant(
        "a turn that lost its worker is given up",
        "lost",
        "turns/completion.py",
        "        if deaths < MAX_DEATHS:\n",
        "        if deaths < 1:\n",
        ("worker@run_turn:before#1",),
    ),
    Mutant(
        "a run is known by when it was fired",
        "fired (17)",
        "extensions/schedules/task_firing.py",
        "            task_runs.start_run(db, task, verdict.at, now)\n",
        "            task_runs.start_run(db, task, now, now)\n",
        ("supervisor@fire_task:after#1",),
        ONE_TASK,
    ),
    Mutant(
        "all runs that were missed are caught up with",
        "fired (17)",
        "extensions/schedules/misfires.py",
        "set(able[-room:]) if room",
        "set(able) if room",
        # So many restarts take longer than it is from one instant to the next.
        ("supervisor@fire_task:before#1" + ";supervisor@boot:after#1" * 8,) * 2,
        ONE_TASK,
    ),
    Mutant(
        "an approval is not used up",
        "allowed (18)",
        "journal/turns/approvals.py",
        "UPDATE approval SET state = 'used'",
        "UPDATE approval SET state = 'granted'",
        ("supervisor@effect:before#1",),
        ONE_WORD,
    ),
    Mutant(
        "a call that was approved and cut off is refused",
        "allowed (18)",
        "toolcalls/approvals.py",
        '    if made.state == "used" or ',
        "    if ",
        ("supervisor@effect:after#1",),
        ONE_WORD,
    ),
)
