"""Each defence of the daemon, and how a build without it differs."""

from attacks.lost_page_defences import LOST_PAGE_DEFENCES
from attacks.weakened_build import Edit

APPROVALS = "orchestrator/journal/turns/approvals.py"
QUESTION = "orchestrator/toolcalls/question_text.py"
LEAKED = "thinker/toolcalls/leaked.py"
HTTP_SERVER = "orchestrator/web/http_server.py"
COMMAND_JAIL = "orchestrator/extensions/workspace/command_jail.py"
GUARD = "orchestrator/extensions/http_api/guard.py"
TOOLHOST = "orchestrator/extensions/mcp_client/toolhost"
PROVENANCE = "orchestrator/toolcalls/provenance.py"
EGRESS = Edit(
    PROVENANCE,
    "if _is_answer_to_chat(call) or not (acts or can_carry_data_out(call.name, tool)):",
    "if not lasts:",
)
DRAFTS = Edit(PROVENANCE, "isinstance(tool, JournalTool) and tool.lasts(call.arguments)", "False")
NO_JAIL = (
    Edit("thinker/jail/hardening.py", "    lacking = []\n", "    return ()\n"),
    Edit("thinker/jail/seccomp.py", "    if not filter_program:", "    if True:"),
    Edit(
        "thinker/jail/landlock.py",
        "            syscall(kernel.LANDLOCK_RESTRICT, self._fd, 0)",
        "            pass",
    ),
    Edit(
        "orchestrator/extensions/mcp_client/toolhost/capabilities.py",
        "    with suppress(OSError):  # no right to, or past",
        "    return\n    with suppress(OSError):  # no right to, or past",
    ),
)
UNPROVEN = (
    Edit(COMMAND_JAIL, "    _prove_jail(order)\n", ""),
    Edit(COMMAND_JAIL, "    if missing:", "    if not order:"),
)
FORMATTING = "orchestrator/channels/formatting.py"
PARSING_COST = "orchestrator/channels/parsing_cost.py"

NOTHING_CLOSED = (
    *NO_JAIL,
    Edit(
        "orchestrator/control/control_server.py",
        "refused = is_from_descendant(sock)",
        "refused = False",
    ),
)

REPEATED = (
    Edit(
        "orchestrator/inbound/commands.py",
        'own = message.kind == "message" and message.origin in ("operator", "user")',
        "own = True",
    ),
    Edit(
        "orchestrator/extensions/telegram/updates.py",
        "source = quotes.format_source(parts)",
        'source = ""',
    ),
)

LOST_DEFENCES: dict[str, tuple[Edit, ...]] = {
    **LOST_PAGE_DEFENCES,
    "a conversation that goes on from an earlier point acts once": (
        Edit(
            "orchestrator/extensions/branches/extension.py",
            'if call.side_effect == "pure":',
            "if call.name:",
        ),
    ),
    "a call is the whole answer": (
        Edit(
            LEAKED,
            '    if not text.lstrip().startswith("{"):\n        return None\n',
            '    text = text[max(0, text.find("{")) :]\n',
        ),
        Edit(LEAKED, "parse_whole_value(text)", "parse_value_at(text, 0)"),
        Edit(LEAKED, "import parse_whole_value", "import parse_value_at"),
    ),
    "no recovery after untrusted text": (
        Edit(
            "thinker/toolcalls/plan.py",
            "if message.tool_calls or has_untrusted_text(read):",
            "if message.tool_calls:",
        ),
        EGRESS,
    ),
    "the nonce of a tag": (
        Edit(
            "orchestrator/extensions/text_tool_calls/worker/history_text.py",
            "key = b32encode(seen.digest()).decode().lower()",
            'key = ""',
        ),
        Edit(
            "thinker/toolcalls/quoting.py",
            "    def is_quoted(self) -> bool:\n",
            "    def is_quoted(self) -> bool:\n        return False\n",
        ),
        EGRESS,
    ),
    "approval of what carries data out of a tainted turn": (EGRESS,),
    "standing changes are drafts in a turn that has read untrusted text": (DRAFTS,),
    "others' words end no fact of the user": (
        DRAFTS,
        Edit(
            "orchestrator/extensions/memory/fact_changes.py",
            "if origin in UNTRUSTED and old.origin not in UNTRUSTED:",
            "if False:",
        ),
    ),
    "a persona has an origin, too": (
        DRAFTS,
        Edit(
            "thinker/preparation.py",
            "foreign = turn.profile_origin in UNTRUSTED",
            "foreign = False",
        ),
    ),
    "facts of untrusted origin are quoted data": (
        Edit(
            "thinker/prompt/layers.py",
            "or item.origin not in UNTRUSTED",
            "or item is not None",
        ),
    ),
    "new links of an answer are dead": (
        Edit(
            "orchestrator/turns/link_guard.py",
            "    def defuse_links(self, text: str) -> str:\n",
            "    def defuse_links(self, text: str) -> str:\n        return text\n",
        ),
    ),
    "bots get no answer": (
        Edit(
            "orchestrator/inbound/admission.py",
            "    if message.from_bot:\n",
            "    if not message.channel:\n",
        ),
    ),
    "only people whom the operator named command": (
        Edit("orchestrator/inbound/admission.py", 'return own or "talk"', 'return "operate"'),
        Edit(
            "orchestrator/inbound/admission.py",
            'return None if named is None else "talk"',
            'return "operate"',
        ),
        *REPEATED,
    ),
    "a role limits what a named person may do": (
        Edit(
            "orchestrator/agentsfile/chat_roles.py",
            "return role is not None and ROLES.index(role) >= ROLES.index(needed)",
            "return True",
        ),
    ),
    "a command counts in fresh words of its author": REPEATED,
    "approvals are single use": (
        Edit(
            APPROVALS,
            '"approval.turn_id = ? AND approval.seq = ?"',
            '"(approval.turn_id = ? OR approval.seq = ? OR 1) ORDER BY approval.state DESC"',
        ),
    ),
    "memory belongs to a person": (
        Edit(
            "orchestrator/turn_access.py",
            "    joins = agents.joins_chats(",
            "    return MemoryScope.for_whole_agent(agent_id)\n    joins = agents.joins_chats(",
        ),
    ),
    "a workspace belongs to a person": (
        Edit(
            "orchestrator/turn_access.py",
            "    return EVERY if memory.all_chats or page else memory.chat",
            "    return EVERY if memory or page else memory.chat",
        ),
    ),
    "a forgotten chat leaves other chats": (
        Edit(
            "orchestrator/extensions/erasure/erasure.py", "told.blank_elsewhere(db)", "told.stored"
        ),
    ),
    "links lead to the web alone": (
        Edit(FORMATTING, "if not address.lower().startswith(_SCHEMES):", "if not address:"),
        Edit(
            FORMATTING,
            '    .disable("reference")\n)\n',
            '    .disable("reference")\n)\n_PARSER.validateLink = lambda _: True\n',
        ),
    ),
    "links show where they lead": (
        Edit(
            FORMATTING,
            "if extract_visible_text(label) != address and _is_deceptive_label(",
            "if not address and (",
        ),
    ),
    "links show the whole place": (
        Edit(FORMATTING, "return named and not there", "return False and not there"),
    ),
    "names are shown as they are": (
        Edit(
            "orchestrator/channels/sender_names.py",
            "    shown = clean_name(name)\n",
            "    return name\n    shown = clean_name(name)\n",
        ),
    ),
    "previews are off": (
        Edit(
            "orchestrator/extensions/telegram/adapter.py",
            '"text", {"is_disabled": True}',
            '"text", {"is_disabled": False}',
        ),
    ),
    "arguments are shown escaped": (
        Edit(
            "orchestrator/chat_texts.py",
            "return format_one_line(json.dumps(value, ensure_ascii=False, sort_keys=True))",
            "return str(value)",
        ),
        Edit(FORMATTING, "return remove_misleading(whole)", "return whole"),
    ),
    "arguments are shown whole or cut visibly": (
        Edit(QUESTION, '    return f"{shown}… [{len(line)} characters]"', "    return shown"),
        Edit(QUESTION, '    yield (\n        f"CUT', '    (\n        f"CUT'),
    ),
    "linear text": (
        Edit(PARSING_COST, "    end = _find_end(text)\n", "    end = len(text)\n"),
        Edit(PARSING_COST, "MAX_NESTING = 24", "MAX_NESTING = 100"),
    ),
    "the Host header is a name of this machine": (
        Edit(GUARD, "if not is_local(headers):", "if not headers:"),
    ),
    "pages of other sites have no access": (
        Edit(GUARD, 'headers.getlist("origin")', 'headers.getlist("")'),
    ),
    "a request has one length": (
        Edit(GUARD, 'if "transfer-encoding" in headers and', 'if "" in headers and'),
    ),
    "the token": (
        Edit(
            GUARD,
            'if scheme.lower() == "bearer" and await self._is_accepted(token.strip()):',
            "if scheme or not token:",
        ),
    ),
    "heads have a time limit and no slot": (
        Edit(
            HTTP_SERVER,
            "timeout_graceful_shutdown=GRACE,",
            "timeout_graceful_shutdown=GRACE,\n            limit_concurrency=200,",
        ),
        Edit(HTTP_SERVER, "if len(idle) > MAX_IDLE:", "if not idle:"),
    ),
    "links of an archive": (
        Edit(
            "orchestrator/extensions/backups/archive.py",
            "    _require_honest_links(path, links, manifest)\n",
            "",
        ),
        Edit(
            "orchestrator/extensions/backups/archive.py",
            "if home is None or stays_in_home(name, leads_to, home):",
            "if folder:",
        ),
        Edit(
            "orchestrator/extensions/backups/restore.py",
            "os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW",
            "os.O_WRONLY | os.O_TRUNC | os.O_CREAT",
        ),
    ),
    "open files are named": (
        Edit(
            "orchestrator/extensions/advice/open_files.py",
            "    if facts.st_mode & stat.S_IWOTH:",
            "    if not facts.st_mode:",
        ),
    ),
    "requests that have arrived are read": (
        Edit(HTTP_SERVER, "return late and not _count_unread_bytes(self.transport)", "return True"),
    ),
    "a signed text counts once": (
        Edit(
            "orchestrator/extensions/webhooks/deliveries.py",
            "    if new.once_ms and not",
            "    if not new.hook and not",
        ),
    ),
    "guesses are counted apart": (
        Edit(
            GUARD,
            '        scheme, _, token = headers.get("authorization"',
            "        busy = self._wrong.count_wrong_token()\n        if busy is not None:\n"
            '            return busy\n        scheme, _, token = headers.get("authorization"',
        ),
    ),
    "responses belong to a user": (
        Edit(
            "orchestrator/extensions/http_api/new_requests.py",
            "(found.agent_id, found.user) == (new.agent_id, new.user)",
            "found.agent_id == new.agent_id",
        ),
    ),
    "the jail of a worker": NOTHING_CLOSED,
    "the jail of the page": NO_JAIL,
    "a worker's skills": (
        Edit(
            "thinker/protocol/env.py",
            "whole = self.skills_dirs if EVERY_SKILL in self.skills else ()",
            "whole = self.skills_dirs",
        ),
    ),
    "the jail of an MCP server": NOTHING_CLOSED,
    "a server writes its own folder alone": (
        Edit(
            f"{TOOLHOST}/jail_order.py",
            "self._select_parts(paths, self.write)",
            "list(self.run) + [*paths]",
        ),
        Edit(f"{TOOLHOST}/jail.py", "all=[*around.write, ", "all=[*around.run, "),
    ),
    "a server reads no keys": (
        Edit(
            f"{TOOLHOST}/jail_order.py",
            "self._select_parts(paths, self.shown, named=self.run)",
            "self._select_parts(paths, self.run)",
        ),
    ),
    "a server has sockets of the internet and no namespaces": (
        Edit(
            f"{TOOLHOST}/jail.py",
            'denied = DENIED | list_group_calls("shared_memory")',
            "denied = DENIED",
        ),
        Edit(
            f"{TOOLHOST}/jail.py",
            "if not order.namespaces:\n        denied",
            "if order.off:\n        denied",
        ),
        Edit(
            f"{TOOLHOST}/jail.py",
            "yield allow_families(socket.AF_INET, socket.AF_INET6, *local)",
            "yield allow_families(socket.AF_INET, socket.AF_NETLINK, *local)",
        ),
    ),
    "threads of the PDF library begin in its jail": (
        Edit(
            "orchestrator/extensions/documents/document_jail.py",
            "        report = enter_jail(Path(folder))\n        load_pdf_library()\n",
            "        load_pdf_library()\n        report = enter_jail(Path(folder))\n",
        ),
        Edit("thinker/jail/landlock.py", "if count_threads() > 1:", "if count_threads() > 99:"),
    ),
    "only trusted servers are believed": (
        Edit(
            "orchestrator/extensions/mcp_client/tool_nature.py",
            "    if trusted:\n        return any(_iter_address",
            "    if trusted is not None:\n        return any(_iter_address",
        ),
        Edit(
            "orchestrator/extensions/mcp_client/mcp_tools.py",
            "if tool.carries or settings.trusted or not",
            "if tool.server or settings.trusted or not",
        ),
    ),
    "the broker never waits for a worker": (
        Edit(
            "orchestrator/broker/broker_host.py",
            "sock = SharedSocket(fileno=fd)",
            "sock = socket.socket(fileno=fd)",
        ),
    ),
    "the jail of commands": (
        *NO_JAIL,
        *UNPROVEN,
    ),
    "the roots of a workspace": (
        *NO_JAIL,
        *UNPROVEN,
        Edit(
            "orchestrator/extensions/workspace/roots.py",
            "        if best is None:\n            raise CallFailure(",
            "        if best is None:\n"
            '            return RootedPath(Root(Path("/"), writable=True), path.parts[1:])\n'
            "            raise CallFailure(",
        ),
    ),
    "the check of addresses": (
        Edit(
            "orchestrator/jail_broker/web_addresses.py",
            "    try:\n        address = ipaddress.ip_address(text.partition",
            "    return True\n    try:\n        address = ipaddress.ip_address(text.partition",
        ),
    ),
}
