"""Attacks across chats: a stranger reads or changes what belongs to another person."""

from collections.abc import Awaitable, Callable

from orchestrator.attacks.attack_world import Attack, AttackWorld

_SCOPE = "memory belongs to a person"


async def _victim(world: AttackWorld) -> tuple[int, str]:
    """Let a person tell the agent a secret; return the chat and the secret."""
    chat, secret = world.chat("public"), f"SECRET{world.number()}"
    await world.use(chat, "store_fact", fact=f"The safe's code is {secret}.")
    await world.say(chat, f"By the way, {secret} is the code of my safe.")
    return chat, secret


async def _asked(world: AttackWorld, tool: str, **arguments: object) -> str:
    """Let a stranger use a tool that reads, and return what the model saw of it."""
    _, secret = await _victim(world)
    stranger = world.chat("public")
    named = {key: str(value).replace("$SECRET", secret) for key, value in arguments.items()}
    world.model.requests.clear()
    await world.use(stranger, tool, **named)
    results = [
        str(message["content"])
        for request in world.model.requests
        for message in request["messages"]
        if message["role"] == "tool"
    ]
    found = [text for text in results if f"code is {secret}" in text or f"{secret} is" in text]
    return f"{tool} showed a stranger: {found[0][:80]}" if found else ""


async def _unasked(world: AttackWorld) -> str:
    """Let the stranger's words match the fact, so that it is among the relevant memories."""
    _, secret = await _victim(world)
    asking = world.say(world.chat("public"), "What is the code of the safe?")
    shown = await world.shown(secret, asking)
    return "a stranger's prompt has another's fact" if shown else ""


async def _profile(world: AttackWorld) -> str:
    number = world.number()
    await world.use(world.chat("public"), "update_profile", path="name", value=f"Ada{number}")
    shown = await world.shown(f"Ada{number}", world.use(world.chat("public"), "get_profile"))
    return "a stranger read another's profile" if shown else ""


async def _persona(world: AttackWorld) -> str:
    number = world.number()
    prompt = f"You are BENT-{number}."
    chat = world.chat("public")
    await world.use(chat, "update_profile", path="persona.system_prompt", value=prompt)
    bent = await world.shown(prompt, world.say(world.chat("public"), "hello"))
    return "a stranger changed the prompt of another chat" if bent else ""


async def _scheduled(world: AttackWorld) -> str:
    """Let a person schedule a task, and return its name."""
    name = f"task-{world.number()}"
    schedule = {"instructions": "Say hello.", "interval_minutes": "60"}
    await world.use(world.chat("public"), "schedule_task", name=name, **schedule)
    return name


async def _task(world: AttackWorld) -> str:
    """Let a stranger cancel another person's task."""
    name = await _scheduled(world)
    await world.use(world.chat("public"), "cancel_task", task=name)
    rows = world.rows("SELECT state FROM task WHERE name = ?", name)
    return "a stranger canceled another's task" if rows == [("cancelled",)] else ""


async def _tasks(world: AttackWorld) -> str:
    shown = await world.shown(
        await _scheduled(world), world.use(world.chat("public"), "list_tasks")
    )
    return "a stranger listed another's task" if shown else ""


async def _written(world: AttackWorld) -> str:
    victim, number = world.chat("public"), world.number()
    await world.say(victim, "hello")
    await world.use(world.chat("public"), "send_message", message=number, chat_id=str(victim))
    shown = number in world.bot.texts(victim)
    return "a stranger wrote to another's chat" if shown else ""


async def _conversations(world: AttackWorld) -> str:
    return await _asked(world, "search_conversations", query="$SECRET safe")


async def _memories(world: AttackWorld) -> str:
    return await _asked(world, "search_memories", query="safe code")


async def _facts(world: AttackWorld) -> str:
    return await _asked(world, "list_facts")


_RUNS: dict[str, Callable[[AttackWorld], Awaitable[str]]] = {
    "searches another's conversations": _conversations,
    "searches another's memories": _memories,
    "lists another's facts": _facts,
    "is told another's facts unasked": _unasked,
    "reads another's profile": _profile,
    "changes another's prompt": _persona,
    "cancels another's task": _task,
    "lists another's tasks": _tasks,
    "writes to another's chat": _written,
}
ATTACKS = tuple(Attack(f"a stranger {name}", _SCOPE, run) for name, run in _RUNS.items())
