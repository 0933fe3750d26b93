"""Attacks across chats: a stranger reads or changes what belongs to another person."""

from collections.abc import Awaitable, Callable
from functools import partial

from orchestrator.extensions.selftest.attacks.attack_world import Attack, AttackWorld
from orchestrator.extensions.selftest.attacks.obedient_model import make_call_order

_SCOPE = "memory belongs to a person"
_FOLDER = "a workspace belongs to a person"
_FORGOTTEN = "a forgotten chat leaves other chats"
_SHOWN = (  # where the journal keeps what a model was shown
    "SELECT body FROM turn_prompt UNION ALL SELECT body FROM prompt_part"
    " UNION ALL SELECT body FROM message UNION ALL SELECT result FROM step"
)


async def _tell_secret(world: AttackWorld) -> tuple[int, str]:
    """Let a person tell the agent a secret; return the chat and the secret."""
    chat, secret = world.take_chat("public"), f"SECRET{world.make_order_id()}"
    await world.use_tool(chat, "store_fact", fact=f"The safe's code is {secret}.")
    await world.write_message(chat, f"By the way, {secret} is the code of my safe.")
    return chat, secret


async def _read_as_stranger(world: AttackWorld, tool: str, **arguments: object) -> str:
    """Let a stranger use a tool that reads, and return the result as the model saw it."""
    _, secret = await _tell_secret(world)
    stranger = world.take_chat("public")
    named = {key: str(value).replace("$SECRET", secret) for key, value in arguments.items()}
    world.model.requests.clear()
    await world.use_tool(stranger, tool, **named)
    results = [
        str(message["content"])
        for request in world.model.requests
        for message in request["messages"]
        if message["role"] == "tool"
    ]
    found = [text for text in results if f"code is {secret}" in text or f"{secret} is" in text]
    return f"{tool} showed a stranger: {found[0][:80]}" if found else ""


async def _recall_unasked(world: AttackWorld) -> str:
    """Let the stranger's words match the fact, so that the fact is among the relevant memories."""
    _, secret = await _tell_secret(world)
    asking = world.write_message(world.take_chat("public"), "What is the code of the safe?")
    shown = await world.is_shown_to_model(secret, asking)
    return "a stranger's prompt has another's fact" if shown else ""


async def _read_profile(world: AttackWorld) -> str:
    number = world.make_order_id()
    await world.use_tool(
        world.take_chat("public"), "update_profile", path="name", value=f"Ada{number}"
    )
    shown = await world.is_shown_to_model(
        f"Ada{number}", world.use_tool(world.take_chat("public"), "get_profile")
    )
    return "a stranger read another's profile" if shown else ""


async def _change_persona(world: AttackWorld) -> str:
    number = world.make_order_id()
    prompt = f"You are BENT-{number}."
    chat = world.take_chat("public")
    await world.use_tool(chat, "update_profile", path="persona.system_prompt", value=prompt)
    bent = await world.is_shown_to_model(
        prompt, world.write_message(world.take_chat("public"), "hello")
    )
    return "a stranger changed the prompt of another chat" if bent else ""


async def _schedule_task(world: AttackWorld) -> str:
    """Let a person schedule a task, and return its name."""
    name = f"task-{world.make_order_id()}"
    schedule = {"instructions": "Say hello.", "interval_minutes": "60"}
    await world.use_tool(world.take_chat("public"), "schedule_task", name=name, **schedule)
    return name


async def _cancel_task(world: AttackWorld) -> str:
    """Let a stranger cancel another person's task."""
    name = await _schedule_task(world)
    await world.use_tool(world.take_chat("public"), "cancel_task", task=name)
    rows = world.query_rows("SELECT state FROM task WHERE name = ?", name)
    return "a stranger canceled another's task" if rows == [("cancelled",)] else ""


async def _list_tasks(world: AttackWorld) -> str:
    shown = await world.is_shown_to_model(
        await _schedule_task(world), world.use_tool(world.take_chat("public"), "list_tasks")
    )
    return "a stranger listed another's task" if shown else ""


async def _write_to_chat(world: AttackWorld) -> str:
    victim, number = world.take_chat("public"), world.make_order_id()
    await world.write_message(victim, "hello")
    await world.use_tool(
        world.take_chat("public"), "send_message", message=number, chat_id=str(victim)
    )
    shown = number in world.bot.list_texts(victim)
    return "a stranger wrote to another's chat" if shown else ""


async def _search_conversations(world: AttackWorld) -> str:
    return await _read_as_stranger(world, "search_conversations", query="$SECRET safe")


async def _search_memories(world: AttackWorld) -> str:
    return await _read_as_stranger(world, "search_memories", query="safe code")


async def _list_facts(world: AttackWorld) -> str:
    return await _read_as_stranger(world, "list_facts")


async def _find_file(world: AttackWorld, tool: str, **arguments: object) -> str:
    """Let a stranger look for a file that another person's chat stored."""
    secret = f"SECRET{world.make_order_id()}"
    await world.use_tool(world.take_chat("public"), "write_file", path="note.txt", content=secret)
    asking = world.use_tool(world.take_chat("public"), tool, **arguments)
    shown = await world.is_shown_to_model(secret, asking)
    return f"{tool} showed a stranger another's file" if shown else ""


async def _leave_program(world: AttackWorld) -> str:
    """Let a person leave a program by the name of one that a stranger's command calls."""
    secret = f"PLANTED{world.make_order_id()}"
    planted = f"#!/bin/sh\nprintf '%s' {secret}\n"
    chat = world.take_chat("public")
    await world.use_tool(chat, "write_file", path=".local/bin/git", content=planted)
    await world.use_tool(chat, "run_command", command="chmod +x .local/bin/git")
    asking = world.use_tool(world.take_chat("public"), "run_command", command="git --version")
    shown = await world.is_shown_to_model(secret, asking)
    return "a stranger ran another's program" if shown else ""


async def _recall_forgotten(
    world: AttackWorld,
    learn: Callable[[AttackWorld, int, str], Awaitable[object]],
    tool: str = "",
    **arguments: object,
) -> str:
    """Let a chat be shown what another chat taught the agent, and forget the other chat."""
    taught, other = world.take_chat("joined"), world.take_chat("joined")
    secret = f"SECRET{world.make_order_id()}"
    await learn(world, taught, secret)
    question = "What is the code of the safe?"
    asked = make_call_order(world.make_order_id(), tool, **arguments) if tool else question
    if not await world.is_shown_to_model(secret, world.write_message(other, asked)):
        raise RuntimeError("the other chat was not shown the fact; adapt the attack")
    await world.forget_chat(taught)
    if await world.is_shown_to_model(secret, world.write_message(other, question)):
        return "the model was sent a forgotten text"
    kept = any(secret in str(text) for (text,) in world.query_rows(_SHOWN))
    return "the journal kept a forgotten text" if kept else ""


async def _teach_fact(world: AttackWorld, chat: int, secret: str) -> None:
    await world.use_tool(chat, "store_fact", fact=f"The safe's code is {secret}.")


async def _teach_profile(world: AttackWorld, chat: int, secret: str) -> None:
    await world.use_tool(chat, "update_profile", path="safe.code", value=f"The code is {secret}.")


async def _tell(world: AttackWorld, chat: int, secret: str) -> None:
    await world.write_message(chat, f"By the way, {secret} is the code of my safe.")


async def _teach_task(world: AttackWorld, chat: int, secret: str) -> None:
    task = {"name": secret, "instructions": f"Say that {secret} is the code of the safe."}
    await world.use_tool(chat, "schedule_task", interval_minutes="60", **task)


async def _teach_changed_fact(world: AttackWorld, chat: int, secret: str) -> None:
    """Store a fact, and put the secret into the fact later."""
    await world.use_tool(chat, "store_fact", fact="The safe is behind the oven.")
    rows = world.query_rows("SELECT max(id) FROM fact")
    fact = f"The safe's code is {secret}."
    await world.use_tool(chat, "update_fact", id=rows[0][0], fact=fact)


_RUNS: dict[str, Callable[[AttackWorld], Awaitable[str]]] = {
    "searches another's conversations": _search_conversations,
    "searches another's memories": _search_memories,
    "lists another's facts": _list_facts,
    "is told another's facts unasked": _recall_unasked,
    "reads another's profile": _read_profile,
    "changes another's prompt": _change_persona,
    "cancels another's task": _cancel_task,
    "lists another's tasks": _list_tasks,
    "writes to another's chat": _write_to_chat,
}
_FILES: dict[str, Callable[[AttackWorld], Awaitable[str]]] = {
    "reads another's file": partial(_find_file, tool="read_file", path="note.txt"),
    "searches another's files": partial(_find_file, tool="search_files", text="SECRET"),
    "lets a command read another's files": partial(
        _find_file,
        tool="run_command",
        command="cat note.txt ../*/note.txt ~/../../*/*/note.txt",
    ),
    "runs another's program": _leave_program,
}
_LEFT: dict[str, Callable[[AttackWorld], Awaitable[str]]] = {
    "a fact": partial(_recall_forgotten, learn=_teach_fact),
    "a listed fact": partial(_recall_forgotten, learn=_teach_fact, tool="list_facts"),
    "a changed fact": partial(_recall_forgotten, learn=_teach_changed_fact),
    "a found message": partial(
        _recall_forgotten, learn=_tell, tool="search_conversations", query="code safe"
    ),
    "a task": partial(_recall_forgotten, learn=_teach_task, tool="list_tasks"),
    "a profile": partial(_recall_forgotten, learn=_teach_profile, tool="get_profile"),
}
ATTACKS = (
    *(Attack(f"a stranger {name}", _SCOPE, run) for name, run in _RUNS.items()),
    *(Attack(f"a stranger {name}", _FOLDER, run) for name, run in _FILES.items()),
    *(Attack(f"a chat keeps {name} forgotten", _FORGOTTEN, run) for name, run in _LEFT.items()),
)
