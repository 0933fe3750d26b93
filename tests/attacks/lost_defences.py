"""Each defence of the daemon, and how a build without it differs."""

import shutil
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = ("orchestrator", "thinker")
DATA = ("config", "prompts", "skills")


class Edit(NamedTuple):
    """A change of a file: ``before``, which it has once, becomes ``after``."""

    file: str
    before: str
    after: str


@dataclass(frozen=True)
class LostDefence:
    """The defences that attacks name, and the edits that take them out of the product."""

    names: tuple[str, ...]
    edits: tuple[Edit, ...]


def build_without(lost: LostDefence, folder: Path) -> str:
    """Return a Python with a copy of the product that lacks these defences.

    All processes of a daemon run with the Python that runs the daemon.
    """
    product = folder / "product"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, product / name)
    for name in DATA:
        shutil.copytree(ROOT / name, product / name)
    for file, before, after in lost.edits:
        path = product / file
        path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    lines = (str(product), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    (packages / "product.pth").write_text("\n".join(lines), "utf-8")
    return str(folder / "venv" / "bin" / "python")


GUARD = "orchestrator/http_api/guard.py"
PROVENANCE = "orchestrator/toolcalls/provenance.py"
EGRESS = Edit(PROVENANCE, "carries(call.name, tool), standing(", "False, standing(")
DRAFTS = Edit(PROVENANCE, ", standing(call.name, call.arguments)", ", False")
NO_JAIL = (
    Edit("thinker/jail/hardening.py", "    lacking = []\n", "    return ()\n"),
    Edit("thinker/jail/seccomp.py", "    if not filter_program:", "    if True:"),
    Edit(
        "thinker/jail/landlock.py",
        "            syscall(kernel.LANDLOCK_RESTRICT, self._fd, 0)",
        "            pass",
    ),
    Edit(
        "thinker/jail/capabilities.py",
        "    with suppress(OSError):  # no right to, or past",
        "    return\n    with suppress(OSError):  # no right to, or past",
    ),
)
UNPROVEN = (
    Edit("orchestrator/hands/command_jail.py", "    _prove(order)\n", ""),
    Edit("orchestrator/hands/command_jail.py", "    if missing or not", "    if not"),
)
FORMATTING = "orchestrator/channels/telegram/formatting.py"

LOST_DEFENCES = (
    LostDefence(
        ("a call is the whole answer",),
        (
            Edit(
                "thinker/toolcalls/leaked.py",
                '    if not text.lstrip().startswith("{"):\n        return None\n',
                '    text = text[max(0, text.find("{")) :]\n',
            ),
            Edit("thinker/toolcalls/leaked.py", "whole_value(text)", "value_at(text, 0)"),
            Edit("thinker/toolcalls/leaked.py", "import whole_value", "import value_at"),
        ),
    ),
    LostDefence(
        ("no recovery after untrusted text",),
        (
            Edit(
                "thinker/toolcalls/plan.py",
                "if message.tool_calls or untrusted(read):",
                "if message.tool_calls:",
            ),
            EGRESS,
        ),
    ),
    LostDefence(
        ("the nonce of a tag",),
        (
            Edit(
                "thinker/toolcalls/text/history_text.py",
                "key = b32encode(seen.digest()).decode().lower()",
                'key = ""',
            ),
            Edit(
                "thinker/toolcalls/quoting.py",
                "    def quoted(self) -> bool:\n",
                "    def quoted(self) -> bool:\n        return False\n",
            ),
            EGRESS,
        ),
    ),
    LostDefence(
        ("approval of what carries data out of a tainted turn",),
        (EGRESS,),
    ),
    LostDefence(
        ("standing changes are drafts in a turn that has read untrusted text",),
        (DRAFTS,),
    ),
    LostDefence(
        ("a persona has an origin, too",),
        (
            DRAFTS,
            Edit(
                "thinker/preparation.py",
                "foreign = turn.profile_origin in UNTRUSTED",
                "foreign = False",
            ),
        ),
    ),
    LostDefence(
        ("facts of untrusted origin are quoted data",),
        (
            Edit(
                "thinker/prompt/layers.py",
                "or item.origin not in UNTRUSTED",
                "or item is not None",
            ),
        ),
    ),
    LostDefence(
        ("new links of an answer are dead",),
        (
            Edit(
                "orchestrator/turns/live_links.py",
                "    def defused(self, text: str) -> str:\n",
                "    def defused(self, text: str) -> str:\n        return text\n",
            ),
        ),
    ),
    LostDefence(
        ("bots get no answer",),
        (
            Edit(
                "orchestrator/channels/telegram/updates.py",
                "if message.author and message.author.is_bot and not message.sender_chat:",
                "if not message.chat:",
            ),
        ),
    ),
    LostDefence(
        ("only people whom the operator named command",),
        (
            Edit(
                "orchestrator/inbound/admission.py",
                "return message.sender_id in trusted and",
                "return bool(trusted) or",
            ),
        ),
    ),
    LostDefence(
        ("approvals are single use",),
        (
            Edit(
                "orchestrator/journal/turns/approvals.py",
                "\"UPDATE approval SET state = 'used' WHERE turn_id = ? AND seq = ?"
                " AND state = 'granted'\"",
                "\"UPDATE approval SET state = 'used' WHERE (turn_id = ? OR seq <> ? OR 1)"
                " AND state IN ('granted', 'used')\"",
            ),
            Edit(
                "orchestrator/journal/turns/approvals.py",
                "(call.turn_id, call.seq, now),\n    )\n    return db.changes() == 1",
                "(call.turn_id, call.seq, now),\n    )\n    return db.changes() >= 1",
            ),
        ),
    ),
    LostDefence(
        ("memory belongs to a person",),
        (
            Edit(
                "orchestrator/memory_access.py",
                "    agent = agents.agent(agent_id)\n    explicit",
                "    return MemoryScope.whole(agent_id)\n    explicit",
            ),
        ),
    ),
    LostDefence(
        ("links lead to the web alone",),
        (
            Edit(FORMATTING, "if not address.lower().startswith(_SCHEMES):", "if not address:"),
            Edit(
                FORMATTING,
                '    .disable("reference")\n)\n',
                '    .disable("reference")\n)\n_PARSER.validateLink = lambda _: True\n',
            ),
        ),
    ),
    LostDefence(
        ("links show where they lead",),
        (Edit(FORMATTING, "if visible(label) != address and _pretends(", "if not address and ("),),
    ),
    LostDefence(
        ("previews are off",),
        (
            Edit(
                "orchestrator/channels/telegram/adapter.py",
                '"link_preview_options": {"is_disabled": True}',
                '"link_preview_options": {"is_disabled": False}',
            ),
        ),
    ),
    LostDefence(
        ("arguments are shown escaped",),
        (
            Edit(
                "orchestrator/chat_texts.py",
                "return one_line(json.dumps(value, ensure_ascii=False, sort_keys=True))",
                "return str(value)",
            ),
            Edit(FORMATTING, "return unambiguous(whole)", "return whole"),
        ),
    ),
    LostDefence(
        ("arguments are shown whole or cut visibly",),
        (
            Edit(
                "orchestrator/toolcalls/question_text.py",
                '    return f"{shown}… [{len(line)} characters]"',
                "    return shown",
            ),
            Edit(
                "orchestrator/toolcalls/question_text.py",
                '    yield (\n        f"CUT',
                '    (\n        f"CUT',
            ),
        ),
    ),
    LostDefence(
        ("linear text",),
        (
            Edit(
                "orchestrator/channels/telegram/parsing_cost.py",
                "    spent = end = openers",
                "    return len(text)\n    spent = end = openers",
            ),
            Edit(FORMATTING, "_MAX_NESTING = 24", "_MAX_NESTING = 100"),
        ),
    ),
    LostDefence(
        ("the Host header is a name of this machine",),
        (Edit(GUARD, "if not is_local(headers):", "if not headers:"),),
    ),
    LostDefence(
        ("pages of other sites have no access",),
        (Edit(GUARD, 'if "origin" in headers and', 'if "" in headers and'),),
    ),
    LostDefence(
        ("the token",),
        (
            Edit(
                GUARD,
                'if scheme.lower() == "bearer" and await'
                " off_loop(self.token.accepts, token.strip()):",
                "if scheme or not token:",
            ),
        ),
    ),
    LostDefence(
        ("heads have a time limit and no slot",),
        (
            Edit(
                "orchestrator/http_api/http_server.py",
                "timeout_graceful_shutdown=GRACE,",
                "timeout_graceful_shutdown=GRACE,\n            limit_concurrency=200,",
            ),
            Edit(
                "orchestrator/http_api/http_server.py", "if len(idle) > MAX_IDLE:", "if not idle:"
            ),
        ),
    ),
    LostDefence(
        ("guesses are counted apart",),
        (
            Edit(
                GUARD,
                '        scheme, _, token = headers.get("authorization"',
                "        busy = self._wrong.too_many()\n        if busy is not None:\n"
                '            return busy\n        scheme, _, token = headers.get("authorization"',
            ),
        ),
    ),
    LostDefence(
        ("responses belong to a user",),
        (
            Edit(
                "orchestrator/journal/turns/api_requests.py",
                "(found.agent_id, found.user) == (new.agent_id, new.user)",
                "found.agent_id == new.agent_id",
            ),
        ),
    ),
    LostDefence(
        ("the jail of a worker", "the jail of an MCP server"),
        (
            *NO_JAIL,
            Edit(
                "orchestrator/control/control_server.py",
                "refused = from_descendant(sock)",
                "refused = False",
            ),
        ),
    ),
    LostDefence(
        ("the jail of commands",),
        (
            *NO_JAIL,
            *UNPROVEN,
        ),
    ),
    LostDefence(
        ("the roots of a workspace",),
        (
            *NO_JAIL,
            *UNPROVEN,
            Edit(
                "orchestrator/hands/roots.py",
                "        if best is None:\n            raise HandFailure(",
                "        if best is None:\n"
                '            return RootedPath(Root(Path("/"), writable=True), path.parts[1:])\n'
                "            raise HandFailure(",
            ),
        ),
    ),
    LostDefence(
        ("the check of addresses",),
        (
            Edit(
                "orchestrator/hands/web_addresses.py",
                "    try:\n        address = ipaddress.ip_address(text.partition",
                "    return True\n    try:\n        address = ipaddress.ip_address(text.partition",
            ),
        ),
    ),
)
