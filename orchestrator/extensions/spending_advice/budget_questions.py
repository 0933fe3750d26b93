"""Ask operators for more money before a budget is used up, once a day for each budget.

The question has two buttons, which send chat commands: so only who may give the command may press
them, and it counts as if it was written. A button counts on its day alone.

Where: is more money asked for before a budget is used up?
"""

import hashlib
import json
import math
from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.agentsfile.chat_roles import find_role
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.spending_advice.outlook import find_periods, load_use
from orchestrator.extensions.spending_advice.raised_budgets import (
    MAX_EXTENSION,
    extend_budget,
    name_budget,
)
from orchestrator.journal.access import pairing
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, outbox, pauses, questions
from orchestrator.journal.turns.outbox import Address, OutboxPart
from orchestrator.journal.turns.usage import SHARED
from orchestrator.spending import budgets
from orchestrator.spending.operator_chat import find_operator_chat
from orchestrator.spending.spending_rules import SpendingRules

NEAR = 0.8  # of a limit: the share from which on a question is asked
SMALLEST = 0.2  # of a limit: the least that is asked for
KEY = "budget_question {}"  # with the agent's id; the value is the day, the dollars and the state
CODE = 12  # hexadecimal digits
PERIODS = {"Day": "a day", "Month": "a month"}  # an hour is over before anyone answers
TEXT = (
    "⚠️ {whose}: ${spent:.2f} of ${limit:.2f} {period} are spent{outlook}. May it be ${usd:g} more"
    " until midnight?\n/budget extend {usd:g}{name}"
)
STALE = "That was a question of another day, so nothing has changed. See: /budget"


class Shortage(NamedTuple):
    """A limit that will be reached today; ``foreseen`` is None without a forecast."""

    window: str
    spent: float
    limit: float
    foreseen: float | None

    def choose_extension(self) -> float:
        """Choose a round sum that would be enough for today."""
        over = (self.foreseen or self.spent) - self.limit
        return min(round_up_sum(max(over, SMALLEST * self.limit)), MAX_EXTENSION)


class BudgetQuestion(NamedTuple):
    """A question of today; ``state`` is ``open`` until it was decided."""

    agent_id: str
    day: int
    usd: float
    state: str = "open"

    @property
    def code(self) -> str:
        """What a button says instead of the budget and the day."""
        return _hash_day(self.agent_id, self.day)

    @property
    def choices(self) -> str:
        """The buttons, as `OutboxPart.choices` has them."""
        more = {f"Extend by ${self.usd:g} today": f"/budget yes {self.code}"}
        return json.dumps(more | {"Keep the limit": f"/budget no {self.code}"})

    def store(self, db: Database) -> None:
        """Store it in place of the question of an earlier day."""
        db.execute(
            "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
            (KEY.format(self.agent_id), f"{self.day} {self.usd} {self.state}"),
        )


def find_question(db: Database, agent_id: str, day: int) -> BudgetQuestion | None:
    """Return the question of a day that began then, in milliseconds."""
    found = db.execute("SELECT v FROM meta WHERE k = ?", (KEY.format(agent_id),)).get
    if found is None:
        return None
    began, usd, state = str(found).split()
    return BudgetQuestion(agent_id, day, float(usd), state) if began == str(day) else None


def ask_for_money(db: Database, rules: SpendingRules) -> bool:
    """Ask about each budget that will be used up today; return whether one was asked about."""
    asked = False
    for agent_id in (SHARED, *(agent.agent_id for agent in rules.agents.agents)):
        budget, zone = rules.find_budget(agent_id)
        if budget is None or not budget.is_in_dollars:
            continue
        day = budgets.find_midnight_before(0, rules.clock(), zone)
        if find_question(db, agent_id, day) is None:
            short = find_shortage(db, rules, agent_id)
            asked = (short is not None and _ask(db, rules, agent_id, day, short)) or asked
    return asked


def find_shortage(db: Database, rules: SpendingRules, agent_id: str) -> Shortage | None:
    """Return the first limit in dollars that will probably be reached today, or is."""
    found = [
        (limits.name, spent.usd, limits.usd)
        for limits, spent in rules.iter_spent(db, agent_id)
        if limits.usd is not None and limits.name in PERIODS
    ]
    paused = _is_used_up(db, agent_id)
    near = [one for one in found if one[1] >= NEAR * one[2] or paused]
    if not near:
        return None
    now, (_, zone) = rules.clock(), rules.find_budget(agent_id)
    today = load_use(db, agent_id, now, zone).forecast_total(find_periods(now, zone).day, now)
    rest = None if today is None else today.total - today.spent
    for window, spent, limit in near:
        if paused or rest is None or spent + rest >= limit:
            return Shortage(window, spent, limit, None if rest is None else spent + rest)
    return None


def answer_question(db: Database, rules: SpendingRules, code: str, by: str, *, extend: bool) -> str:
    """Decide a question of today by its code; return the text for the person who decided."""
    question = _find_by_code(db, rules, code)
    if question is None:
        return STALE
    if question.state != "open":
        return f"This was decided before: {question.state.replace('-', ' ')}."
    if extend:
        return extend_by_chat(db, rules, question.agent_id, question.usd, by)
    subject = f"agent {question.agent_id}" if question.agent_id else "shared budget"
    audit.record_decision(db, by, "keeps the limit today", subject, rules.clock())
    _close(db, question, "kept", f"\N{CROSS MARK} The limit stays, by {by}.", rules.clock())
    return "The limit stays as it is. I ask again tomorrow, if need be."


def extend_by_chat(db: Database, rules: SpendingRules, agent_id: str, usd: float, by: str) -> str:
    """Extend a budget until midnight, which answers today's question about it."""
    try:
        paused = extend_budget(db, rules, agent_id, usd, by)
    except OrchestratorError as error:
        return str(error)
    _, zone = rules.find_budget(agent_id)
    now = rules.clock()
    question = find_question(db, agent_id, budgets.find_midnight_before(0, now, zone))
    if question is not None and question.state == "open":
        told = f"\N{WHITE HEAVY CHECK MARK} ${usd:g} more until midnight, by {by}."
        _close(db, question, "extended", told, now)
    text = f"{name_budget(agent_id)} may spend ${usd:g} more until midnight".capitalize()
    return f"{text}." if paused is None else f"{text}, but stays paused: {paused}."


def round_up_sum(usd: float) -> float:
    """Return the next sum of one, two or five cents, dimes, dollars and so on."""
    unit = 10.0 ** math.floor(math.log10(max(usd, 0.01)))
    step = next((step for step in (1, 2, 5) if step * unit >= usd - 1e-9), 10)
    return round(step * unit, 2)


def list_operator_chats(db: Database, rules: SpendingRules, agent_id: str) -> list[Address]:
    """List the chats to ask: those that costControls name, or else those of all operators."""
    agents = [one for one in rules.agents.agents if agent_id in (SHARED, one.agent_id)]
    named = [address for one in agents if (address := find_operator_chat(db, one)) is not None]
    found = named or _iter_operators(db, rules)
    return list({address.chat_key: address for address in found}.values())


def _iter_operators(db: Database, rules: SpendingRules) -> Iterator[Address]:
    file, paired = rules.agents, pairing.load_roles(db)
    people = [*paired, *((item.channel, item.chat_id) for item in file.bindings)]
    for name, settings in file.channels.list_chat_channels().items():
        people += [(name, person) for person in (*settings.allowlist, *settings.roles)]
    for channel, person in dict.fromkeys(people):
        if find_role(file, channel, {person}, paired) == "operate":
            found = inbox.find_private_address(db, channel, person)
            if found is not None:
                yield found


def _ask(db: Database, rules: SpendingRules, agent_id: str, day: int, short: Shortage) -> bool:
    chats = list_operator_chats(db, rules, agent_id)
    if not chats:  # the page, and the doctor, say it as well
        return False
    question = BudgetQuestion(agent_id, day, short.choose_extension())
    question.store(db)
    outlook = (
        "" if short.foreseen is None else f", and today it will be about ${short.foreseen:.2f}"
    )
    text = TEXT.format(
        whose=name_budget(agent_id).capitalize() if agent_id == SHARED else agent_id,
        spent=short.spent,
        limit=short.limit,
        period=PERIODS[short.window],
        outlook=outlook,
        usd=question.usd,
        name=f" {agent_id}" if agent_id else "",
    )
    part = OutboxPart(text, markdown=False, again=1, notice=True, choices=question.choices)
    for address in chats:
        outbox.add_extra(db, None, address, (part,), "direct", rules.clock())
    return True


def _find_by_code(db: Database, rules: SpendingRules, code: str) -> BudgetQuestion | None:
    for agent_id in (SHARED, *(agent.agent_id for agent in rules.agents.agents)):
        _, zone = rules.find_budget(agent_id)
        day = budgets.find_midnight_before(0, rules.clock(), zone)
        if _hash_day(agent_id, day) == code:
            return find_question(db, agent_id, day)
    return None


def _is_used_up(db: Database, agent_id: str) -> bool:
    """Return whether an agent is paused since this budget has no room for its next call."""
    return any(
        pause.kind == "budget"
        and (agent_id == SHARED) == ("shared budget" in pause.reason)
        and agent_id in (SHARED, pause.agent_id)
        for pause in pauses.list_pauses(db)
    )


def _close(db: Database, question: BudgetQuestion, state: str, told: str, now: int) -> None:
    question._replace(state=state).store(db)
    questions.close_choices(db, question.choices, told, now)


def _hash_day(agent_id: str, day: int) -> str:
    return hashlib.sha256(f"{agent_id}\0{day}".encode()).hexdigest()[:CODE]
