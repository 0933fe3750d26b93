"""Check the rules for answers in groups."""

from difflib import get_close_matches

from orchestrator.agentsfile.chat_channels import ChatChannel, ChatRules, GroupRules
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.text_patterns import matches_pattern


def check_groups(draft: Draft) -> None:
    """Warn about rules that answer more than they seem to, or that no group can match."""
    for name, settings in draft.channels.list_chat_channels().items():
        _check_rules(draft, (name,), settings.groups)
        for chat_id, rules in settings.groups.chats.items():
            _check_rules(draft, (name, chat_id), rules)
            reason = _check_group_id(draft, name, settings, chat_id)
            if reason is not None:
                path = ("channels", name, "groups", "chats", chat_id)
                draft.add_warning(
                    path, f"channel '{name}' has rules for the group \"{chat_id}\"{reason}"
                )


def _check_rules(draft: Draft, place: tuple[str, ...], rules: GroupRules | ChatRules) -> None:
    name, *chat = place
    path = ("channels", name, "groups", *(("chats", *chat) if chat else ()))
    where = f"channel '{name}'" + "".join(f', group "{chat_id}"' for chat_id in chat)
    for number, pattern in enumerate(rules.patterns or ()):
        if matches_pattern(pattern, ""):
            draft.add_warning(
                (*path, "patterns", number),
                f"{where}: the pattern {pattern!r} is found in every text, so every message is"
                ' answered; write "answer": ["all"] if that is meant, or a word that it must have',
            )
    if rules.answer is not None and "all" in rules.answer and (rules.answer[1:] or rules.patterns):
        draft.add_warning(
            (*path, "answer"),
            f'{where}: "all" answers every message, so the other rules change nothing; write'
            ' "answer": ["all"] alone, or leave "all" out',
        )


def _check_group_id(draft: Draft, name: str, settings: ChatChannel, chat_id: str) -> str | None:
    """Return the end of a sentence that says why no group can have this id, or None."""
    wrong = settings.check_group_id(chat_id)
    if wrong is not None:
        return f", {wrong}"
    bound = {item.chat_id for item in draft.bindings.values() if item.channel == name}
    known = {*bound, *settings.allowlist} - {"*"}
    near = get_close_matches(chat_id, known - {chat_id}, n=1)
    if chat_id in known or not near:
        return None
    return f', which no binding and no allowlist names; did you mean "{near[0]}"?'
