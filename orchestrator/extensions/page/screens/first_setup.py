"""The first evening: a model, a bot, and the first message, on one screen.

How far one is says the daemon itself, so the screen can be left and opened again at any step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import (
    MAX_SECRET,
    render_act_button,
    render_hidden_fields,
    render_secret_field,
)
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import (
    render_field,
    render_link_button,
    render_note,
    render_panel,
    render_region,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.setup_answers import (
    PAIR_REFUSE,
    PEOPLE_LIST,
    SETUP_BOT,
    SETUP_MODEL,
    SETUP_OFFERS,
    SETUP_STATE,
    BotInUse,
    BotTrial,
    ListedPeople,
    ListedPerson,
    LocalModels,
    ModelOffers,
    ProviderChoice,
    SetupProgress,
    TrialOutcome,
    TriedModel,
)
from thinker.protocol.peer import FAILED, RpcError

DEMO = "demo"
MAX_LISTED = 40  # models that a field offers


class SetupStep(NamedTuple):
    """One of the steps; ``id`` leads to it."""

    number: int
    title: str
    id: str
    done: bool


@dataclass(frozen=True)
class SetupLook:
    """What the screen shows: how far one is, what can be chosen, and what was just tried."""

    progress: SetupProgress
    offers: ModelOffers
    waiting: Sequence[ListedPerson] = ()
    model: TrialOutcome | None = None
    bot: TrialOutcome | None = None


@edit_calls.need_daemon
async def _show_setup(request: ScreenRequest) -> ScreenResult:
    model = bot = None
    if request.form.get("do") == "model":
        model = await _try_model(request)
    elif request.form.get("do") == "bot":
        bot = await _try_bot(request)
    progress = await edit_calls.ask_extension(request, SETUP_STATE, None, SetupProgress)
    offers = ModelOffers(local=progress.local_servers)
    if not _has_model(progress) or "model" in request.query or model is not None:
        offers = await edit_calls.ask_extension(request, SETUP_OFFERS, None, ModelOffers)
    people = (await edit_calls.ask_extension(request, PEOPLE_LIST, None, ListedPeople)).people
    waiting = [one for one in people if one.state == "pending"]
    return render_setup(request, SetupLook(progress, offers, waiting, model, bot))


async def _try_model(request: ScreenRequest) -> TrialOutcome:
    form = request.form
    provider, _, local = form.get("provider", "").partition(" ")
    trial = TriedModel(
        agent_id=form.get("agentId", ""),
        provider=provider,
        model=form.get("model", "").strip()[:200],
        key=form.get("key", "").strip()[:MAX_SECRET],
        base_url=(form.get("baseUrl", "").strip() or local)[:2000],
    )
    if not provider:
        return TrialOutcome(works=False, text="Choose where the model runs.")
    return await _ask_trial(request, SETUP_MODEL, trial)


async def _try_bot(request: ScreenRequest) -> TrialOutcome:
    token = request.form.get("token", "").strip()[:MAX_SECRET]
    if not token:
        return TrialOutcome(works=False, text="Paste the token that @BotFather gave you.")
    trial = BotTrial(token=token, replace=request.form.get("replace") == "yes")
    return await _ask_trial(request, SETUP_BOT, trial)


async def _ask_trial(
    request: ScreenRequest, method: str, trial: TriedModel | BotTrial
) -> TrialOutcome:
    """Return what came of a trial; one that is refused has failed."""
    try:
        return await edit_calls.ask_extension(request, method, trial, TrialOutcome)
    except RpcError as error:
        if error.code != FAILED:
            raise
        return TrialOutcome(works=False, text=str(error))


def render_setup(request: ScreenRequest, look: SetupLook) -> TitledContent:
    """Render the three steps, each with its state; the next one is open."""
    model = _has_model(look.progress)
    bot = _find_bot(look.progress) is not None and not look.waiting
    done = sum((model, bot, look.progress.first_message))
    return TitledContent(
        "Set up",
        [
            _render_step(
                SetupStep(1, "A model that answers", "model", model),
                _render_model_step(request, look),
            ),
            _render_step(
                SetupStep(2, "Telegram", "telegram", bot),
                _render_bot_step(request, look),
            ),
            _render_step(
                SetupStep(3, "The first message", "message", look.progress.first_message),
                [
                    h.p["Write to your agent here; it is the same agent as in Telegram."],
                    render_link_button("Open a chat", "/chats", "do" if model else "", "chats"),
                ],
            ),
        ],
        lead=f"{done} of 3 done",
        follows=any(one is not None and one.works for one in (look.model, look.bot)),
    )


def _render_step(step: SetupStep, content: h.Node) -> h.Element:
    sign = figures.render_state(*(("done", "done") if step.done else ("idle", "to do")))
    return render_panel(f"{step.number}. {step.title}", content, id=step.id, actions=sign)


def _render_model_step(request: ScreenRequest, look: SetupLook) -> h.Node:
    used, chosen = look.progress.model, _has_model(look.progress)
    open_form = not chosen or "model" in request.query or look.model is not None
    return [
        _render_result(look.model) if look.model else None,
        h.p[
            f"{show_hidden_characters(used.agent_id)} uses ",
            h.strong[show_hidden_characters(f"{used.provider} {used.model}".strip())],
            f" at {show_hidden_characters(used.host)}" if used.host else None,
            ".",
        ]
        if used is not None and chosen
        else None,
        render_note(strip_terminal_codes(used.problem), kind="warn")
        if used is not None and used.problem and chosen
        else None,
        _render_model_form(request, look)
        if open_form and not (look.model and look.model.works)
        else render_link_button("Use another model", "/setup?model=1"),
    ]


def _render_model_form(request: ScreenRequest, look: SetupLook) -> h.Element:
    used, form = look.progress.model, request.form
    local = look.offers.local
    chosen = form.get("provider") or (f"{local[0].provider} {local[0].address}" if local else "")
    names = _list_model_names(look.offers)
    first = local[0].models[0] if local and local[0].models else ""
    return h.form(method="post", action="/setup", class_="form", autocomplete="off")[
        render_hidden_fields(request, {"agentId": used.agent_id if used else ""}),
        render_note(
            f"Found on this machine: {_name_local(local[0])}. It needs no key, and nothing leaves"
            " the machine."
        )
        if local
        else None,
        render_field("Where it runs", _render_providers(look.offers, chosen)),
        render_field(
            "Model",
            [
                h.input(
                    name="model", value=form.get("model", first), list="models", autocomplete="off"
                ),
                h.datalist(id="models")[
                    (h.option(value=name, label=label) for name, label in names[:MAX_LISTED])
                ],
            ],
            "Empty: the provider's usual one.",
        ),
        render_secret_field(
            "Key",
            "key",
            "a model",
            "From the provider's site. Written to keys.env if it works, and never shown again."
            " Not needed for servers of your own, or where one is set.",
            required=False,
        ),
        h.details(open=bool(form.get("baseUrl")))[
            h.summary["Another address"],
            render_field(
                "Address",
                h.input(name="baseUrl", value=form.get("baseUrl", ""), placeholder="https://…/v1"),
                "Only where the model is not at the provider's usual address.",
            ),
        ],
        h.div(class_="row")[
            h.button(class_="do", name="do", value="model")["Try it"],
            h.span(class_="soft")["One short question; it is used if it answers."],
        ],
    ]


def _render_providers(offers: ModelOffers, chosen: str) -> h.Element:
    hosted = [one for one in offers.providers if one.key_variable or one.needs_address]
    return h.select(name="provider", required=True)[
        h.option(value="", selected=not chosen)["Choose …"],
        h.optgroup(label="On this machine")[
            (
                _render_option(f"{one.provider} {one.address}", _name_local(one), chosen)
                for one in offers.local
            )
        ]
        if offers.local
        else None,
        h.optgroup(label="Services")[
            (_render_option(one.provider, _name_provider(one), chosen) for one in hosted)
        ],
    ]


def _render_option(value: str, text: str, chosen: str) -> h.Element:
    return h.option(value=value, selected=value == chosen)[show_hidden_characters(text)]


def _render_bot_step(request: ScreenRequest, look: SetupLook) -> h.Node:
    bot, result = _find_bot(look.progress), look.bot
    replaces = result.replaces if result else ""
    return [
        _render_result(result) if result else None,
        _render_bot(bot) if bot else None,
        render_region("waiting", [_render_waiting(request, one) for one in look.waiting])
        if bot or look.waiting
        else None,
        None
        if bot and not replaces and "bot" not in request.query
        else h.form(method="post", action="/setup", class_="form", autocomplete="off")[
            render_hidden_fields(request),
            render_secret_field(
                "Token",
                "token",
                "Telegram",
                "In Telegram, write /newbot to @BotFather, and paste here what it gives you.",
            ),
            h.label(class_="check")[
                h.input(type="checkbox", name="replace", value="yes"),
                f"Yes, in place of {show_hidden_characters(replaces)}",
            ]
            if replaces
            else None,
            h.div(class_="row")[h.button(class_="do", name="do", value="bot")["Connect"]],
        ],
    ]


def _render_bot(bot: BotInUse) -> h.Element:
    if bot.bot_name is None:
        return h.p[figures.render_state(bot.state or "starting"), f" {bot.detail}"]
    name = show_hidden_characters(bot.bot_name)
    return h.p[
        "Now write to ",
        h.a(href=f"https://t.me/{name}", rel="noreferrer", target="_blank")[f"@{name}"],
        " in Telegram. Your message appears here, and you let yourself in.",
    ]


def _render_waiting(request: ScreenRequest, one: ListedPerson) -> h.Element:
    name = strip_terminal_codes(one.name) or show_hidden_characters(one.chat_id)
    code = {"code": one.code or ""}
    return h.div(class_="card urgent", data_ask=True)[
        h.h3[f"{name} writes"],
        h.blockquote(class_="said")[strip_terminal_codes(one.first)] if one.first else None,
        h.p(class_="soft")["code ", h.code[one.code]],
        h.div(class_="row")[
            render_act_button(
                request, protocol.PAIR_APPROVE, {**code, "role": "operate"}, "Let in", kind="do"
            )
            if request.has_right(Right.CHANGE)
            else None,
            render_act_button(request, PAIR_REFUSE, code, "Refuse", kind="danger"),
        ],
    ]


def _render_result(result: TrialOutcome) -> h.Element:
    time = f" ({result.seconds:.1f} s)" if result.seconds else ""
    text = strip_terminal_codes(result.text) + time
    return h.div(data_kept=True)[render_note(text, kind="done" if result.works else "bad")]


def _has_model(progress: SetupProgress) -> bool:
    """Return whether an agent has a model that is more than the demo."""
    return progress.model is not None and progress.model.provider != DEMO


def _find_bot(progress: SetupProgress) -> BotInUse | None:
    return next((one for one in progress.telegram.accounts if one.token_set), None)


def _name_local(one: LocalModels) -> str:
    return f"{one.name or one.provider} at {one.address}"


def _name_provider(one: ProviderChoice) -> str:
    return f"{one.title} (key is set)" if one.key_set else one.title


def _list_model_names(offers: ModelOffers) -> list[tuple[str, str]]:
    """Return the models that can be chosen, each with where it runs and what it costs."""
    found = [(name, _name_local(one)) for one in offers.local for name in one.models]
    for provider in offers.providers:
        for model in provider.models:
            price = ""
            if model.input_usd is not None and model.output_usd is not None:
                price = f", ${model.input_usd:g} in and ${model.output_usd:g} out a million tokens"
            found.append((model.id, f"{provider.title}{price}"))
    return found


SCREENS = (
    PageScreen(
        "/setup", "Set up", Right.READ, _show_setup, "Settings", from_journal=False, posts=True
    ),
)
