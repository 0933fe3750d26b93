"""The card of calls that wait for a person: who asks, what exactly, why, and the decisions."""

import re
from collections import Counter
from collections.abc import Mapping

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.argument_rows import render_arguments
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_act_button,
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.reads.answer_costs import OfferedTools
from orchestrator.extensions.page.screen_request import OWN, ScreenRequest
from orchestrator.extensions.page.setup_answers import RULES_ADD
from orchestrator.journal.inspect.chat_history import OpenQuestion
from thinker.protocol.messages import ToolSpec
from thinker.protocol.names import format_chat_name

# The meaning of a tool's class for a person who decides.
CLASSES = {
    "pure": "only reads",
    "local_tx": "changes what the daemon keeps",
    "keyed": "may be repeated",
    "verifiable": "can be checked afterwards",
    "non_idempotent": "cannot be undone or repeated safely",
}
# Verbs with which descriptions of tools begin, so that they continue "… wants to".
_VERBS = (
    "add answer append ask book browse buy calculate call cancel change check clear close click"
    " compute convert copy count create delete describe do download draft edit end execute export"
    " extract fetch fill find forget forward generate get give import insert install inspect invite"
    " keep list load look make mark move navigate note open order pay place play post print publish"
    " put query read record remember remind remove rename replace reply report request reserve"
    " restart return run save schedule search select sell send set share show start stop store"
    " submit subscribe summarize switch take tell track transcribe transfer translate turn type"
    " update upload use wait write"
)
VERBS = frozenset(_VERBS.split())
_SENTENCE = re.compile(r"(.+?)(?:[.:;!?](?:\s|$)|\n|$)")
MAX_TITLE = 100  # characters


def format_wish(tool: str, spec: ToolSpec | None) -> str:
    """Return what a call is for in the words of its tool: ``send a mail``, ``use wiki_x``."""
    about = shorten_text(spec.description, 500) if spec else ""
    sentence = _SENTENCE.match(about)
    first, _, rest = (sentence[1] if sentence else "").partition(" ")
    for verb in (first.lower(), *_strip_third_person(first.lower())):
        if verb in VERBS:
            return shorten_text(f"{verb} {rest}".strip(), MAX_TITLE)
    return f"use {shorten_text(tool, MAX_TITLE)}"


def _strip_third_person(word: str) -> tuple[str, ...]:
    """Return the verbs that a word may be a third person of: ``searches`` of ``search``."""
    if word.endswith("ies"):
        return (f"{word[:-3]}y",)
    return (word.removesuffix("s"), word.removesuffix("es")) if word.endswith("s") else ()


def render_question(
    request: ScreenRequest, found: OpenQuestion, tools: OfferedTools, *, here: bool = False
) -> h.Element:
    """Render the calls that wait for one answer, with everything that they would do.

    ``here`` says that its chat is on the screen.
    """
    return h.article(
        class_="card urgent ask",
        id=f"q-{found.code}",
        data_ask=True,
        data_row=True,
        tabindex="-1",
        aria_label="A question",
    )[
        h.h2[show_hidden_characters(found.agent_id), " wants to ", format_wishes(found, tools)],
        h.p(class_="soft")[
            None if here else _render_asker(request, found),
            f"{figures.format_time_left(found.expires, request.now)} · ",
            f"it {CLASSES.get(found.side_effect, found.side_effect)}",
        ],
        [_render_call(found, place, tools) for place in range(len(found.calls))],
        h.p(class_="soft")[
            "Why it asks: ",
            strip_terminal_codes("; ".join(dict.fromkeys(one.reason for one in found.calls))),
            ". Tool: ",
            h.code[", ".join(dict.fromkeys(show_hidden_characters(c.tool) for c in found.calls))],
            f" · code {found.code}",
            None
            if here
            else [
                " · ",
                h.a(href=build_link("turns", found.turn_id))["what the agent did so far"],
            ],
        ],
        _render_decisions(request, found) if request.has_right(Right.DECIDE) else None,
    ]


def format_wishes(found: OpenQuestion, tools: OfferedTools) -> str:
    """Return what the calls of a question are for; alike ones once, with their number."""
    counts = Counter(call.tool for call in found.calls)
    wishes = {tool: format_wish(tool, tools.get((found.turn_id, tool))) for tool in counts}
    return "; ".join(
        f"{wish} ({counts[tool]} times)" if counts[tool] > 1 else wish
        for tool, wish in wishes.items()
    )


def _render_call(found: OpenQuestion, place: int, tools: OfferedTools) -> h.Node:
    """Render the arguments of one call of a question, numbered if there are several."""
    call = found.calls[place]
    spec = tools.get((found.turn_id, call.tool))
    shown = render_arguments(call.arguments, spec, call.sources)
    if not found.others:
        return shown
    return [h.h3[f"{place + 1}. ", show_hidden_characters(call.tool)], shown]


def _render_asker(request: ScreenRequest, found: OpenQuestion) -> h.Node:
    """Render for whom the call is, with a link to the chat for those who may read it."""
    own = found.chat_key.startswith(OWN)
    mine = own and found.sender == request.viewer.user
    place = "" if own else f"in {show_hidden_characters(format_chat_name(found.chat_key))}"
    sender = "you" if mine else shorten_text(found.sender, 40) or ("a task" if own else "")
    text = " ".join(filter(None, (f"for {sender}" if sender else "", place)))
    if not request.viewer.can_see_chat(found.chat_key):
        return f"{text} · "
    return [h.a(href=f"/chats/{found.chat_key}")[text], " · "]


def _render_decisions(request: ScreenRequest, found: OpenQuestion) -> h.Node:
    """Render the two decisions, bound to the arguments that are shown."""
    if request.daemon is None:
        return None
    fields = {"code": found.code, "argsHash": found.args_hash}
    action = f"/act/{protocol.APPROVAL_DECIDE}"
    return [
        h.form(method="post", action=action, class_="act")[
            render_hidden_fields(request, {**fields, "granted": "true"}),
            render_button(
                f"Allow these {len(found.calls)} once" if found.others else "Allow once",
                "do",
                key="a",
            ),
        ],
        _render_lasting_answer(request, found, action_fields=fields),
        h.form(method="post", action=action, class_="act deny")[
            render_hidden_fields(request, {**fields, "granted": "false"}),
            h.label[
                h.span["Or say no, and why: the agent reads it"],
                h.input(name="note", maxlength="500", placeholder="reason, if you like"),
            ],
            render_button("Deny", "danger", key="d"),
        ],
    ]


def _render_lasting_answer(
    request: ScreenRequest, found: OpenQuestion, action_fields: Mapping[str, str]
) -> h.Node:
    """Render the answer to all calls alike, where one may be given."""
    if not all(call.may_stand for call in found.calls) or not request.has_right(Right.CHANGE):
        return None
    names = any(decides for call in found.calls for _, _, decides in call.sources.values())
    label = "Always for this recipient" if names else "Always for calls like this"
    scope = {"scope": "recipient"} if names else {}
    return render_act_button(request, RULES_ADD, {**action_fields, **scope}, label)
