"""The fields that people change often, in their order, with plain names."""

from collections.abc import Mapping

# By the title of a part in the schema; a dot leads into a part of the part.
FREQUENT_FIELDS: Mapping[str, Mapping[str, str]] = {
    "AgentDefinition": {
        "agentId": "Name",
        "description": "What it is for",
        "llmProvider": "Provider",
        "model": "Model",
        "systemPrompt": "Instructions",
        "prompt": "Prompt definition",
        "allowedTools": "Tools it may use",
        "approvals": "Tools that ask first",
        "workspace": "A folder with commands",
        "web": "The web",
        "budget.usdPerDay": "Dollars a day at most",
        "budget.usdPerMonth": "Dollars a month at most",
        "budget.tokensPerDay": "Tokens a day at most",
        "enabled": "Takes messages",
    },
    "Binding": {
        "channel": "Channel",
        "chatId": "Chat",
        "agentId": "Agent that answers",
        "account": "Account",
        "role": "What people there may do",
    },
    "McpServer": {
        "command": "Program",
        "args": "Arguments",
        "url": "Or the address of a running server",
        "env": "Environment",
        "headers": "Headers",
        "sandbox.network": "May use the network",
        "sandbox.read": "May also read",
        "sandbox.write": "May also write",
        "trusted": "Trust what it says about its tools",
        "disabled": "Switched off",
    },
    "TelegramChannel": {
        "enabled": "Switched on",
        "access": "Who may write",
        "allowlist": "People and chats that are let in",
        "roles": "What they may do",
        "groups.answer": "In groups, it answers",
        "accounts": "More bots",
    },
    "HostedSettings": {
        "enabled": "Switched on",
        "access": "Who may write",
        "allowlist": "People and chats that are let in",
        "roles": "What they may do",
        "groups.answer": "In groups, it answers",
        "accounts": "More bots",
    },
    "Budget": {
        "usdPerDay": "Dollars a day at most",
        "usdPerMonth": "Dollars a month at most",
        "tokensPerDay": "Tokens a day at most",
    },
    "ProviderSettings": {
        "baseUrl": "Address",
        "like": "Works like",
        "keyVariable": "Name of its key",
        "defaultModel": "Usual model",
    },
    "Retention": {
        "turnDays": "Days for turns",
        "conversationDays": "Days for conversations",
        "pictureDays": "Days for pictures",
    },
}
# What the choices of a field mean, where their values do not say it.
CHOICE_WORDS: Mapping[str, str] = {
    "pairing": "who has a code that you approve",
    "allowlist": "only who is on the list",
    "open": "everyone",
    "talk": "talk",
    "approve": "talk and approve calls",
    "operate": "everything",
    "queue": "wait for the answer",
    "steer": "join the answer",
    "interrupt": "stop the answer and start anew",
    "mention": "what mentions it",
    "reply": "replies to it",
    "all": "every message",
}
# The fields that hold more than a line.
LONG_FIELDS = frozenset({"systemPrompt", "template"})
