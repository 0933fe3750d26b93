"""Other names for the chats and people of exported turns."""

import json
from typing import Any

from orchestrator.extensions.workbench.case_names import CaseNames
from orchestrator.extensions.workbench.case_rows import CaseTables
from orchestrator.extensions.workbench.matching import compute_call_digest
from thinker.protocol.messages import JsonObject

ARGUMENTS: JsonObject = {"to": "anna bauer", "count": 42}


def tables(**columns: Any) -> CaseTables:
    """The rows of a turn in the group -4711 whose member 42 is Anna Bauer."""
    key = "telegram/9988776/-4711/"
    message = {
        "channel": "telegram",
        "bot_id": "9988776",
        "chat_id": "-4711",
        "chat_key": key,
        "sender_id": "42",
        "sender_name": "Anna Bauer",
        "text": "Anna here, 42 of us in -4711",
        **columns,
    }
    args = json.dumps(ARGUMENTS)
    digest = compute_call_digest("send_mail", ARGUMENTS)
    step = {"name": "send_mail", "args": args, "args_hash": digest}
    prompt = {"body": json.dumps({"layers": [{"text": "chat_id: -4711\nBauer asks"}]})}
    return {
        "inbox": [message],
        "session": [{"chat_key": key, "scope": "telegram:-4711"}],
        "turn": [{"id": "4711", "chat_key": key, "scope": "telegram:-4711"}],
        "step": [step],
        "turn_prompt": [prompt],
    }


def test_people_and_chats_have_other_names_wherever_they_stand() -> None:
    """In columns, in texts, and as words of them in any case; short numbers in texts stay."""
    names = CaseNames()
    names.note_rows(tables())
    renamed = names.rename_rows(tables())
    (message,) = renamed["inbox"]
    assert message["chat_id"] == "-1000001"
    assert message["chat_key"] == f"telegram/{message['bot_id']}/-1000001/"
    assert renamed["turn"][0]["scope"] == "telegram:-1000001"
    assert message["sender_name"] == "Person1"
    assert message["text"] == "Person1 here, 42 of us in -1000001"
    assert "chat_id: -1000001\\nPerson1 asks" in str(renamed["turn_prompt"][0]["body"])
    assert renamed["turn"][0]["id"] == "4711"
    text = json.dumps(renamed)
    assert not [name for name in ("Anna", "Bauer", "9988776") if name in text]


def test_words_of_the_program_stay_whatever_people_are_called() -> None:
    """A result from a tool is one, though a person is called Tool, and the operator's id a word."""
    rows = tables(sender_id="operator", sender_name="Tool")
    rows["step"][0]["result"] = json.dumps({"origin": "tool", "content": "Tool, the operator"})
    names = CaseNames()
    names.note_rows(rows)
    (step,) = names.rename_rows(rows)["step"]
    assert json.loads(str(step["result"])) == {
        "origin": "tool",
        "content": "Person1, the operator",
    }


def test_renamed_call_is_found_by_its_new_arguments() -> None:
    """A trial looks for calls by the digest of their arguments."""
    names = CaseNames()
    names.note_rows(tables())
    (step,) = names.rename_rows(tables())["step"]
    arguments = json.loads(str(step["args"]))
    assert arguments == {"to": "Person1", "count": 42}
    assert step["args_hash"] == compute_call_digest("send_mail", arguments)


def test_turns_of_one_export_share_their_names() -> None:
    """The same person is the same one in each case, and another one another."""
    names = CaseNames()
    names.note_rows(tables())
    names.note_rows(tables(sender_name="Bob", sender_id="77", chat_id="555123"))
    assert names.rename_text("Anna and Bob in 555123") == "Person1 and Person2 in 1000004"
    assert CaseNames().rename_text("Anna") == "Anna"
