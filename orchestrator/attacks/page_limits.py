"""Attacks on what all who use the page share: places, memory, patience; and its headers."""

from contextlib import AsyncExitStack
from functools import partial
from http import HTTPStatus

from orchestrator.attacks.attack_world import SEVERAL, Attack, AttackWorld
from orchestrator.attacks.page_forms import GUARD
from orchestrator.attacks.raw_page import (
    PageLogin,
    connected,
    effects,
    enter,
    entered,
    form_of,
    get,
    given,
    login,
    open_page,
    post,
    request,
    sent,
)
from orchestrator.control import protocol
from orchestrator.page.body_reads import MAX_BODY

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


async def _half_sent(
    world: AttackWorld, stack: AsyncExitStack, path: str, who: PageLogin | None
) -> None:
    """Begin many forms and hold them; return when the page has seen them all."""
    site = f"http://localhost:{world.page_port}"
    own = ("Origin", site), ("Content-Type", _FORM), ("Content-Length", "1000")
    head = request("POST", path, given(world, who, own))
    for _ in range(_HALF_SENT):
        stream = await stack.enter_async_context(await connected(world))
        await stream.send(head + b"a=")
    await get(world, "/in")


async def _kept_out(world: AttackWorld) -> str:
    """Hold many half-sent codes; the operator's own code has to let in meanwhile."""
    code = await open_page(world)
    async with AsyncExitStack() as stack:
        await _half_sent(world, stack, "/in", None)
        answer = await enter(world, code)
    return "" if entered(answer) else f"the operator was answered {answer.status}"


async def _kept_waiting(world: AttackWorld) -> str:
    """Hold many half-sent forms as a guest; the operator has to be served meanwhile."""
    guest, owner = await login(world, "viewer"), await login(world, "operator", user="operator")
    async with AsyncExitStack() as stack:
        await _half_sent(world, stack, f"/act/{protocol.RELOAD}", guest)
        shown = await get(world, "/", owner)
        done = await post(
            world, f"/act/{protocol.RELOAD}", form_of(protocol.RELOAD, owner, world.number()), owner
        )
    wanted = (shown.status, done.status) == (HTTPStatus.OK, HTTPStatus.SEE_OTHER)
    return "" if wanted else f"the operator was answered {shown.status} and {done.status}"


async def _listened(world: AttackWorld) -> str:
    """Open many streams as a guest; the operator has to get one meanwhile."""
    guest, owner = await login(world, "viewer"), await login(world, "operator", user="operator")
    address = request("GET", "/events?at=/", given(world, guest, ()))
    async with AsyncExitStack() as stack:
        for _ in range(_STREAMS):
            stream = await stack.enter_async_context(await connected(world))
            await stream.send(address)
            await stream.receive()
        whole = request("GET", "/events?at=/", given(world, owner, ()))
        found = await sent(world, whole, lambda text: "event:" in text or "503" in text)
    return "" if "event:" in found.body else f"the operator's stream was answered {found.status}"


async def _large(world: AttackWorld, *, known: bool) -> str:
    """Send a right form that is followed by far too much."""
    much = "x" * (2 * MAX_BODY)
    if known:
        owner, before = await login(world, "operator", user="operator"), effects(world)
        fields = {**form_of(protocol.RELOAD, owner, world.number()), "more": much}
        await post(world, f"/act/{protocol.RELOAD}", fields, owner)
        return "the form was taken" if effects(world)[0] != before[0] else ""
    fields = {"code": await open_page(world), "more": much}
    return "the code was taken" if entered(await post(world, "/in", fields)) else ""


async def _numerous(world: AttackWorld) -> str:
    """Send a form with very many fields."""
    owner, before = await login(world, "operator", user="operator"), effects(world)
    fields = {**form_of(protocol.RELOAD, owner, world.number())}
    fields |= {f"f{number}": "" for number in range(10_000)}
    answer = await post(world, f"/act/{protocol.RELOAD}", fields, owner)
    broke = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return f"answered {answer.status}" if broke or effects(world)[0] != before[0] else ""


async def _two_lengths(world: AttackWorld) -> str:
    """Hide a request behind one that ends elsewhere for another reader."""
    owner = await login(world, "operator", user="operator")
    hidden = request("GET", "/turns", given(world, owner, ())).decode()
    lengths = ("Transfer-Encoding", "chunked"), ("Content-Length", str(len(hidden) + 5))
    site = ("Origin", f"http://localhost:{world.page_port}")
    head = request("POST", "/in", given(world, None, (site, *lengths)))
    data = head.replace(b"Connection: close\r\n", b"") + f"0\r\n\r\n{hidden}".encode()
    found = await sent(world, data)
    both = f"{found.head}{found.body}".count("HTTP/1.1 ")
    return "a hidden request was answered" if both > 1 and "<h1>Turns" in found.body else ""


async def _bare(world: AttackWorld) -> str:
    """Look for an answer without the headers that keep a browser from harm."""
    owner, guest = await login(world, "operator", user="operator"), await login(world, "viewer")
    form = form_of(protocol.RELOAD, owner, world.number())
    answers = {
        "a screen": await get(world, "/", owner),
        "the login": await get(world, "/in"),
        "a stranger's": await get(world, "/turns"),
        "a file's": await get(world, "/static/x/page.css"),
        "nothing there": await get(world, "/nope<script>", owner),
        "not for this role": await get(world, "/logs", guest),
        "a redirect": await get(world, "/chats/new", owner),
        "a wrong Host": await get(world, "/", owner, (("Host", "evil.example"),)),
        "a foreign form": await post(world, "/in", {}, None, (("Origin", "null"),)),
        "a wrong code": await enter(world, "x"),
        "a stale form": await post(world, f"/act/{protocol.RELOAD}", {}, owner),
        "a wrong form": await post(world, "/act/nope", form, owner),
        "another verb": await sent(world, request("DELETE", "/", given(world, owner, ()))),
        "a wrong verb": await get(world, f"/act/{protocol.RELOAD}", owner),
        "too large": await post(world, "/in", {"code": "x" * (2 * MAX_BODY)}),
    }
    lacking = [
        name
        for name, answer in answers.items()
        if answer.status
        and not (
            all(part in answer.header("content-security-policy") for part in _POLICY)
            and all(answer.header(key) == value for key, value in _EVERYWHERE.items())
        )
    ]
    return f"no policy: {', '.join(lacking)}" if lacking else ""


ATTACKS = (
    Attack("half-sent codes keep the operator out", _FORMS, _kept_out),
    Attack("half-sent forms keep the operator waiting", _FORMS, _kept_waiting),
    Attack("a guest takes all streams", _FORMS, _listened),
    Attack("a code comes with two megabytes", _FORMS, partial(_large, known=False)),
    Attack("a form comes with two megabytes", _FORMS, partial(_large, known=True)),
    Attack("a form has ten thousand fields", SEVERAL, _numerous),
    Attack("a request of the page has two lengths", GUARD, _two_lengths),
    Attack("an answer has no policy", GUARD, _bare),
)
