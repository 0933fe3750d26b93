"""What a chat is told by the daemon itself, and how a reply is put together. Pure."""

from collections.abc import Sequence

NO_AGENT = "No agent answers this chat. Ask my operator to add a binding for it."
NOTHING = "I have nothing to say to that."
GONE = "This agent was removed from the configuration while it was answering you."
BROKEN = (
    "Something went wrong inside the agent, so I could not answer. The operator's log says what."
)
POISON = (
    "I am sorry: answering this message broke off {deaths} times inside the agent, so I gave it"
    " up. Reference: {turn}"
)
TIMED_OUT = "It did not finish within {minutes} minutes and was stopped."
SUBAGENT_DIED = "It stopped its process {deaths} times, so I gave it up. Reference: {turn}"
UNSURE = "⚠️ I couldn't confirm whether this happened: {tool}."
LATE = "⚠️ I couldn't confirm that this reached you earlier:\n{text}"
APPROVAL = (
    "I need my operator's word before I run {tool} with {arguments}\n({reason}).\n"
    "/approve {code} or /deny {code}, or on my machine:\n"
    "orchestrator approvals grant {code}\norchestrator approvals deny {code}"
)
TOOL_CHANGED = (
    "⚠️ The tool {tool} is not what it was: its MCP server describes it in another way now. No agent"
    " may use it until you have looked at it and allow it:\n"
    "/approve {name}, or: orchestrator tools approve {name}"
)
TOOL_WITHHELD = "the tool {tool!r} has changed; my operator has to look at it before it is used"
QUARANTINE = "I cannot answer right now: the agent keeps failing. Your message is kept."
NO_START = (
    "I cannot answer: this agent cannot start with its configuration, perhaps for want of a key."
    " My operator finds what to set with: orchestrator status"
)
TASK_OFF = (
    "⚠️ The scheduled task {name!r} failed {failures} times in a row, so I switched it off"
    " ({error}).\norchestrator tasks enable {id}"
)
COMMAND_FAILED = "That did not work; my operator's log says why."
PAUSED = "I am paused: {reason}. Your messages are kept; I answer them when I go on."
PAUSE_ALERT = (
    "Agent '{agent}' is paused: {reason}. Its messages are kept.\n"
    "/resume {agent}, or: orchestrator agents resume {agent}"
)


def compose(answer: str, unconfirmed: Sequence[str], unsure_tools: Sequence[str]) -> str:
    """The whole text of a reply.

    Args:
        answer: what the model said.
        unconfirmed: earlier messages of the chat of which nobody knows whether they arrived.
        unsure_tools: tools of this turn of which nobody knows whether they ran.
    """
    return "\n\n".join(
        [
            *(LATE.format(text=text) for text in unconfirmed),
            answer.strip() or NOTHING,
            *(UNSURE.format(tool=tool) for tool in unsure_tools),
        ]
    )
