"""The invariants of every journal at any moment, as read-only checks.

They are numbered as in the manual. Missing are those that only the outside world can show (1, 4,
12, 13, 16 and most of 6) and those about several runs of the daemon (18 to 22): the crash self-test
and the tests check them.
"""

from collections.abc import Callable, Mapping

from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import MESSAGE, AssistantMessage, Message, ToolResult

Check = Callable[[Database], list[str]]  # returns a sentence for every violation


def _check_transcripts(db: Database) -> list[str]:
    """Check invariant 9: a conversation has one result for each call, in order."""
    found = []
    for (turn_id,) in db.execute("SELECT id FROM turn").fetchall():
        for step in sessions.load_transcript(db, str(turn_id)).steps:
            calls = [call.id for call in step.response.tool_calls]
            results = [call.result.call_id if call.result else None for call in step.calls]
            if len(results) != len(calls) or any(
                result not in (None, call) for call, result in zip(calls, results, strict=True)
            ):
                found.append(f"step {turn_id}:{step.seq} has calls {calls} and results {results}")
    for (session,) in db.execute("SELECT id FROM session").fetchall():
        bodies = db.execute("SELECT body FROM message WHERE session_id = ? ORDER BY id", (session,))
        if not _is_paired([MESSAGE.validate_json(body) for (body,) in bodies]):
            found.append(f"the calls and results of session {session} are not in pairs")
    return found


def _is_paired(messages: list[Message]) -> bool:
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolResult):
            if waiting[:1] != [message.call_id]:
                return False
            del waiting[0]
        elif waiting:
            return False
        elif isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.tool_calls]
    return not waiting


def _check_audit_chain(db: Database) -> list[str]:
    broken = audit.find_broken_entry(db)
    return [] if broken is None else [f"the chain is broken at entry {broken}"]


# Queries that return the sentences, and functions.
CHECKS: Mapping[str, str | Check] = {
    # An update, and a message with its edit date, is stored at most once for each bot and chat.
    "invariant 2": """
SELECT format('%s update %s of bot %s is stored %s times', channel, update_id, bot_id, count(*))
FROM inbox WHERE update_id IS NOT NULL GROUP BY channel, bot_id, update_id HAVING count(*) > 1
UNION ALL
SELECT format('%s message %s of chat %s is stored %s times', channel, message_id, chat_id, count(*))
FROM inbox GROUP BY channel, bot_id, chat_id, message_id, edit_date, kind HAVING count(*) > 1""",
    # A chat has at most one open turn, and its messages are claimed in order.
    "invariant 3": """
SELECT format('chat %s has %s open turns', chat_key, count(*)) FROM turn
WHERE state IN('running','waiting') GROUP BY chat_key HAVING count(*) > 1
UNION ALL
SELECT format('message %s of chat %s was claimed before message %s', b.id, b.chat_key, a.id)
FROM inbox AS a JOIN inbox AS b ON a.chat_key = b.chat_key AND a.id < b.id
JOIN (SELECT number, min(id) AS claimed FROM transition
  WHERE kind = 'inbox' AND state = 'claimed' GROUP BY number) AS second ON second.number = b.id
LEFT JOIN (SELECT number, min(id) AS claimed FROM transition
  WHERE kind = 'inbox' AND state IN('claimed','cancelled','done','dead') GROUP BY number) AS first
  ON first.number = a.id
WHERE first.claimed IS NULL OR first.claimed > second.claimed""",
    # A step that has ended never changes and never runs again.
    "invariant 5": """
SELECT format('step %s:%s changed after it was %s', turn_id, number, state)
FROM transition AS ended WHERE kind = 'step' AND state IN('done','failed','unknown')
AND EXISTS(SELECT 1 FROM transition AS later WHERE later.turn_id = ended.turn_id
  AND later.kind = 'step' AND later.number = ended.number AND later.id > ended.id)""",
    # A `non_idempotent` call that may have run is never planned again.
    "invariant 6": """
SELECT format('tool %s (%s:%s) may have run and is to run again', name, step.turn_id, seq)
FROM transition AS again JOIN step ON step.turn_id = again.turn_id AND seq = number
WHERE again.kind = 'step' AND again.state = 'planned' AND class = 'non_idempotent'
AND EXISTS(SELECT 1 FROM transition AS ran WHERE ran.turn_id = again.turn_id
  AND ran.kind = 'step' AND ran.number = again.number AND ran.id < again.id
  AND ran.state = 'intent')""",
    # No effect without an earlier intent of an epoch that owned the turn. A turn that goes from
    # node to node may come to one that has started earlier.
    "invariant 7": """
SELECT format('tool %s (%s:%s) ran without an intent', name, turn_id, seq) FROM step
WHERE kind = 'tool' AND state IN('done','unknown') AND t_intent IS NULL AND answered_by IS NULL
UNION ALL
SELECT format('tool %s (%s:%s) was run in epoch %s of a turn of epoch %s',
  name, turn_id, seq, step.epoch, turn.epoch)
FROM step JOIN turn ON turn.id = turn_id WHERE step.epoch > turn.epoch
AND NOT EXISTS(SELECT 1 FROM meta WHERE k = 'shared')""",
    # Every planned call has ended before its turn ends.
    "invariant 8": """
SELECT format('turn %s is %s, its call %s of %s is %s', turn_id, turn.state, seq, name, step.state)
FROM step JOIN turn ON turn.id = turn_id
WHERE turn.state NOT IN('running','waiting') AND step.state IN('planned','intent')""",
    "invariant 9": _check_transcripts,
    # A turn is `replied` if and only if its reply is in the outbox; its inbox row agrees.
    "invariant 10": """
SELECT format('turn %s is %s without a message in the outbox', id, state) FROM turn
WHERE state IN('replied','closed','dead') AND recipe <> 'subagent'
AND NOT EXISTS(SELECT 1 FROM outbox WHERE turn_id = turn.id)
UNION ALL
SELECT format('turn %s of a subagent is %s without a result', turn.id, turn.state)
FROM turn JOIN inbox ON inbox.turn_id = turn.id LEFT JOIN subagent_run ON inbox_id = inbox.id
WHERE turn.state IN('replied','closed','dead') AND kind = 'subagent' AND result IS NULL
UNION ALL
SELECT format('turn %s is %s, its preview has no text', id, turn.state)
FROM turn WHERE state IN('replied','closed') AND EXISTS(SELECT 1 FROM outbox
  WHERE turn_id = turn.id AND final = 0 AND outbox.state <> 'abandoned')
UNION ALL
SELECT format('turn %s is %s, its message %s is %s', turn.id, turn.state, inbox.id, inbox.state)
FROM inbox JOIN turn ON turn.id = turn_id WHERE inbox.state IS DISTINCT FROM CASE turn.state
  WHEN 'running' THEN 'claimed' WHEN 'waiting' THEN 'claimed' WHEN 'replied' THEN 'done'
  WHEN 'closed' THEN 'done' WHEN 'cancelled' THEN 'cancelled'
  WHEN 'dead' THEN iif(inbox.state = 'cancelled', 'cancelled', 'dead') ELSE inbox.state END
UNION ALL
SELECT format('message %s is claimed by no turn', id) FROM inbox
WHERE state = 'claimed' AND turn_id IS NULL""",
    # Every outbox row ends, and its turn closes with the last one.
    "invariant 11": """
SELECT format('turn %s is closed, its message %s is %s', turn.id, outbox.id, outbox.state)
FROM outbox JOIN turn ON turn.id = turn_id WHERE turn.state = 'closed'
AND outbox.state NOT IN('delivered','unknown','abandoned','failed_permanent')
UNION ALL
SELECT format('turn %s is replied although all its messages have ended', id) FROM turn
WHERE state = 'replied' AND NOT EXISTS(SELECT 1 FROM outbox WHERE turn_id = turn.id
  AND state NOT IN('delivered','unknown','abandoned','failed_permanent'))""",
    # No open turn belongs to an older epoch.
    "invariant 14": """
SELECT format('turn %s is open in epoch %s, the journal is in epoch %s', id, epoch, v)
FROM turn JOIN meta ON k = 'epoch'
WHERE state IN('running','waiting') AND epoch <> CAST(v AS BIGINT)
AND NOT EXISTS(SELECT 1 FROM meta WHERE k = 'shared')""",
    # No message vanishes; its state is the last one of its history.
    "invariant 15": """
SELECT DISTINCT format('message %s has vanished', number) FROM transition
WHERE kind = 'inbox' AND number NOT IN(SELECT id FROM inbox)
UNION ALL
SELECT format('message %s is %s, which its history does not say', id, state) FROM inbox
WHERE state IS DISTINCT FROM (SELECT state FROM transition
  WHERE kind = 'inbox' AND number = inbox.id ORDER BY id DESC LIMIT 1)""",
    # A message of a task belongs to a run of the task, and to one that fired once.
    "invariant 17": """
SELECT format('message %s is of a task, and no run of one', id) FROM inbox
WHERE kind = 'task' AND id NOT IN(SELECT inbox_id FROM task_run WHERE inbox_id IS NOT NULL)
UNION ALL
SELECT format('task %s ran at %s, its message %s is %s', task_id, scheduled_at, inbox.id,
  inbox.state) FROM task_run JOIN inbox ON inbox.id = inbox_id
WHERE task_run.state = 'ran' AND inbox.state <> 'done'""",
    # The work of a subagent belongs to a call, and its result reaches the parent.
    "subagents": """
SELECT format('message %s is the work of a subagent, and of no call', id) FROM inbox
WHERE kind = 'subagent' AND id NOT IN(SELECT inbox_id FROM subagent_run)
UNION ALL
SELECT format('call %s:%s is %s and its subagent still works', step.turn_id, step.seq, step.state)
FROM subagent_run AS run JOIN step ON step.turn_id = run.turn_id AND step.seq = run.seq
JOIN inbox ON inbox.id = inbox_id WHERE wait = 1 AND inbox.state IN('new','claimed')
AND step.state NOT IN('planned','intent')
UNION ALL
SELECT format('subagent %s has a result and no report', subagent_id) FROM subagent_run AS run
JOIN subagent ON subagent.id = subagent_id WHERE result IS NOT NULL AND wait = 0
AND (failed = 1 OR ifnull(CAST(spec ->> 'explicit' AS TEXT), '') NOT IN('1','true'))
AND NOT EXISTS(SELECT 1 FROM inbox WHERE kind = 'subagent_result'
  AND message_id = format('%s:%s', run.turn_id, run.seq))""",
    "audit log": _check_audit_chain,
}


def check_invariants(db: Database) -> list[str]:
    """Return a sentence for every violation, beginning with the invariant's name."""
    found = []
    for name, check in CHECKS.items():
        if isinstance(check, str):
            found += [f"{name}: {sentence}" for (sentence,) in db.execute(check)]
        else:
            found += [f"{name}: {sentence}" for sentence in check(db)]
    return found
