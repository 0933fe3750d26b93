"""Attacks on what the users of the page share (places, memory, time), and on its headers."""

from contextlib import AsyncExitStack
from functools import partial
from http import HTTPStatus

from orchestrator.control import protocol
from orchestrator.extensions.page.body_reads import MAX_BODY
from orchestrator.extensions.selftest.attacks.attack_world import SEVERAL, Attack, AttackWorld
from orchestrator.extensions.selftest.attacks.page_forms import GUARD
from orchestrator.extensions.selftest.attacks.raw_page import (
    PageLogin,
    build_form,
    build_request,
    complete_headers,
    connect_page,
    count_effects,
    enter_code,
    get_page,
    log_in,
    open_page,
    parse_token,
    post_form,
    send_bytes,
)

_FORMS = "no one's forms and streams keep others waiting"
_HALF_SENT = 80  # forms; more than there are places
_STREAMS = 80
_FORM = "application/x-www-form-urlencoded"
_POLICY = ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'")
_EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


async def _hold_half_forms(
    world: AttackWorld, stack: AsyncExitStack, path: str, who: PageLogin | None
) -> None:
    """Begin many forms and hold them; return once the page has seen them all."""
    site = f"http://localhost:{world.page_port}"
    own = ("Origin", site), ("Content-Type", _FORM), ("Content-Length", "1000")
    head = build_request("POST", path, complete_headers(world, who, own))
    for _ in range(_HALF_SENT):
        stream = await stack.enter_async_context(await connect_page(world))
        await stream.send(head + b"a=")
    await get_page(world, "/in")


async def _keep_operator_out(world: AttackWorld) -> str:
    """Hold many half-sent codes; the operator's own code has to work meanwhile."""
    code = await open_page(world)
    async with AsyncExitStack() as stack:
        await _hold_half_forms(world, stack, "/in", None)
        answer = await enter_code(world, code)
    return "" if parse_token(answer) else f"the operator was answered {answer.status}"


async def _keep_operator_waiting(world: AttackWorld) -> str:
    """Hold many half-sent forms as a guest; the operator has to be served meanwhile."""
    guest, owner = await log_in(world, "viewer"), await log_in(world, "operator", user="operator")
    async with AsyncExitStack() as stack:
        await _hold_half_forms(world, stack, f"/act/{protocol.RELOAD}", guest)
        shown = await get_page(world, "/", owner)
        done = await post_form(
            world,
            f"/act/{protocol.RELOAD}",
            build_form(protocol.RELOAD, owner, world.make_order_id()),
            owner,
        )
    wanted = (shown.status, done.status) == (HTTPStatus.OK, HTTPStatus.SEE_OTHER)
    return "" if wanted else f"the operator was answered {shown.status} and {done.status}"


async def _take_all_streams(world: AttackWorld) -> str:
    """Open many streams as a guest; the operator has to get one meanwhile."""
    guest, owner = await log_in(world, "viewer"), await log_in(world, "operator", user="operator")
    address = build_request("GET", "/events?at=/", complete_headers(world, guest, ()))
    async with AsyncExitStack() as stack:
        for _ in range(_STREAMS):
            stream = await stack.enter_async_context(await connect_page(world))
            await stream.send(address)
            await stream.receive()
        whole = build_request("GET", "/events?at=/", complete_headers(world, owner, ()))
        found = await send_bytes(world, whole, lambda text: "event:" in text or "503" in text)
    return "" if "event:" in found.body else f"the operator's stream was answered {found.status}"


async def _post_large_form(world: AttackWorld, *, known: bool) -> str:
    """Send a valid form that is followed by far too much."""
    much = "x" * (2 * MAX_BODY)
    if known:
        owner, before = await log_in(world, "operator", user="operator"), count_effects(world)
        fields = {**build_form(protocol.RELOAD, owner, world.make_order_id()), "more": much}
        await post_form(world, f"/act/{protocol.RELOAD}", fields, owner)
        return "the form was taken" if count_effects(world)[0] != before[0] else ""
    fields = {"code": await open_page(world), "more": much}
    return "the code was taken" if parse_token(await post_form(world, "/in", fields)) else ""


async def _post_many_fields(world: AttackWorld) -> str:
    """Send a form with very many fields."""
    owner, before = await log_in(world, "operator", user="operator"), count_effects(world)
    fields = {**build_form(protocol.RELOAD, owner, world.make_order_id())}
    fields |= {f"f{number}": "" for number in range(10_000)}
    answer = await post_form(world, f"/act/{protocol.RELOAD}", fields, owner)
    broke = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return f"answered {answer.status}" if broke or count_effects(world)[0] != before[0] else ""


async def _send_two_lengths(world: AttackWorld) -> str:
    """Hide a request behind one whose end two readers see differently."""
    owner = await log_in(world, "operator", user="operator")
    hidden = build_request("GET", "/turns", complete_headers(world, owner, ())).decode()
    lengths = ("Transfer-Encoding", "chunked"), ("Content-Length", str(len(hidden) + 5))
    site = ("Origin", f"http://localhost:{world.page_port}")
    head = build_request("POST", "/in", complete_headers(world, None, (site, *lengths)))
    data = head.replace(b"Connection: close\r\n", b"") + f"0\r\n\r\n{hidden}".encode()
    found = await send_bytes(world, data)
    both = f"{found.head}{found.body}".count("HTTP/1.1 ")
    return "a hidden request was answered" if both > 1 and "<h1>Turns" in found.body else ""


async def _find_bare_answers(world: AttackWorld) -> str:
    """Look for an answer without the headers that protect a browser."""
    owner, guest = await log_in(world, "operator", user="operator"), await log_in(world, "viewer")
    form = build_form(protocol.RELOAD, owner, world.make_order_id())
    answers = {
        "a screen": await get_page(world, "/", owner),
        "the login": await get_page(world, "/in"),
        "a stranger's": await get_page(world, "/turns"),
        "a file's": await get_page(world, "/static/x/page.css"),
        "nothing there": await get_page(world, "/nope<script>", owner),
        "not for this role": await get_page(world, "/logs", guest),
        "a redirect": await get_page(world, "/chats/new", owner),
        "a wrong Host": await get_page(world, "/", owner, (("Host", "evil.example"),)),
        "a foreign form": await post_form(world, "/in", {}, None, (("Origin", "null"),)),
        "a wrong code": await enter_code(world, "x"),
        "a stale form": await post_form(world, f"/act/{protocol.RELOAD}", {}, owner),
        "a wrong form": await post_form(world, "/act/nope", form, owner),
        "another verb": await send_bytes(
            world, build_request("DELETE", "/", complete_headers(world, owner, ()))
        ),
        "a wrong verb": await get_page(world, f"/act/{protocol.RELOAD}", owner),
        "too large": await post_form(world, "/in", {"code": "x" * (2 * MAX_BODY)}),
    }
    lacking = [
        name
        for name, answer in answers.items()
        if answer.status
        and not (
            all(part in answer.get_header("content-security-policy") for part in _POLICY)
            and all(answer.get_header(key) == value for key, value in _EVERYWHERE.items())
        )
    ]
    return f"no policy: {', '.join(lacking)}" if lacking else ""


ATTACKS = (
    Attack("half-sent codes keep the operator out", _FORMS, _keep_operator_out),
    Attack("half-sent forms keep the operator waiting", _FORMS, _keep_operator_waiting),
    Attack("a guest takes all streams", _FORMS, _take_all_streams),
    Attack("a code comes with two megabytes", _FORMS, partial(_post_large_form, known=False)),
    Attack("a form comes with two megabytes", _FORMS, partial(_post_large_form, known=True)),
    Attack("a form has ten thousand fields", SEVERAL, _post_many_fields),
    Attack("a request of the page has two lengths", GUARD, _send_two_lengths),
    Attack("an answer has no policy", GUARD, _find_bare_answers),
)
