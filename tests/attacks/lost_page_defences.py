"""Each defence of the page, and how a build without it differs.

Some have several parts, each of which an attack of its own tries.
"""

from attacks.weakened_build import Edit

APP = "orchestrator/extensions/page/page_app.py"
BODIES = "orchestrator/extensions/page/body_reads.py"
FORWARDED = "orchestrator/extensions/page/forwarded.py"
HIDDEN = "orchestrator/extensions/page/html/outside_text.py"
LIVE = "orchestrator/extensions/page/live.py"
LOGIN = "orchestrator/extensions/page/login.py"
MARKDOWN = "orchestrator/extensions/page/html/markdown.py"
PAGE_DESK = "orchestrator/extensions/page/daemon_side/page_requests.py"
PAGE_LOGINS = "orchestrator/extensions/page/daemon_side/login_desk.py"
PAGE_GUARD = "orchestrator/extensions/page/page_guard.py"
SESSIONS = "orchestrator/extensions/page/reads/web_sessions.py"
PAGE_ACCESS = "orchestrator/extensions/page/daemon_side/page_access.py"
KEEPER = "orchestrator/extensions/versions/text_keeper.py"
MARKS = "orchestrator/extensions/versions/secret_marks.py"
STORED_KEYS = "orchestrator/extensions/setup/stored_keys.py"

LOST_PAGE_DEFENCES: dict[str, tuple[Edit, ...]] = {
    "requests of the page come from the page": (
        Edit(PAGE_GUARD, "problem = self._check_host(headers, came)", "problem = None"),
        Edit(
            PAGE_GUARD,
            'if any(site != "same-origin" for site in sites)'
            " or not self._is_same_origin(headers, sites):",
            "if not headers:",
        ),
        Edit(PAGE_GUARD, 'if "transfer-encoding" in headers and', 'if "" in headers and'),
        Edit(PAGE_GUARD, "headers.setdefault(name, value)", "del value"),
        Edit(
            APP,
            'return form.get("csrf") == build_csrf_value(request.state.token)',
            "return bool(build_csrf_value(request.state.token))",
        ),
        Edit(APP, "if self._find_session(request.state.token) is None:", "if self is None:"),
        Edit(APP, 'own = back.startswith("/") and', 'own = back != "/" or'),
        Edit(APP, "return back if own and back.isprintable()", "return back if own"),
        Edit(
            APP,
            'if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":',
            "if not request.headers:",
        ),
        Edit(LOGIN, "if key == name]", "if key.endswith(COOKIE)]"),
        Edit(LOGIN, "if len(found) == 1 and TOKEN", "if found and TOKEN"),
    ),
    "the supervisor decides what a session does": (
        Edit(
            PAGE_ACCESS,
            "return right in ROLES.get(role, frozenset())",
            "return role in ROLES and method in REQUIRED_RIGHTS",
        ),
        Edit(
            "orchestrator/extensions/page/screen_request.py",
            "return own or Right.READ in self.rights",
            "return own or bool(key)",
        ),
        Edit(
            "orchestrator/extensions/page/daemon_side/web_channel.py",
            'return session.role == "operator" or',
            "return bool(session) or",
        ),
        Edit(
            PAGE_DESK,
            "if agents is not None and sent.agent not in agents:",
            "if agents is not None and not sent.chat:",
        ),
        Edit(PAGE_DESK, "while key in self._running:", "while key in ():"),
        Edit(PAGE_DESK, "if key in self._answers:", "if key in ():"),
        Edit(
            "orchestrator/journal/turns/questions.py",
            "is_open(now) or seen not in (None, hash_calls(asked)):",
            "is_open(now):",
        ),
        Edit(
            PAGE_DESK,
            "ShownDecision.model_validate(asked.params)",
            "protocol.ApprovalDecision.model_validate(asked.params)",
        ),
    ),
    "codes of the page let in once": (
        Edit(
            PAGE_LOGINS,
            "self._codes.pop(web_sessions.hash_secret(",
            "self._codes.get(web_sessions.hash_secret(",
        ),
        Edit(
            PAGE_LOGINS,
            "            web_sessions.has_invitation, asked.code, looked",
            "            lambda *_: True, asked.code, looked",
        ),
        Edit(
            SESSIONS,
            "SET used_at = ? WHERE digest = ? AND used_at IS NULL AND ends_at > ?",
            "SET used_at = ? WHERE digest = ? AND (used_at IS NULL OR ends_at > ? OR 1)",
        ),
        Edit(
            SESSIONS,
            '"digest = ? AND ends_at > ? AND last_at > ?"',
            '"digest = ? AND ends_at <> ? AND last_at > ?"',
        ),
        Edit(LOGIN, "if len(self._times) == MAX_WRONG_CODES and", "if not MAX_WRONG_CODES and"),
    ),
    "wrong codes are counted apart from right ones": (
        Edit(
            LOGIN,
            "        code = PageCode(code=",
            "        if len(self._times) == MAX_WRONG_CODES:\n"
            "            return self._refuse_wrong_code()\n"
            "        code = PageCode(code=",
        ),
    ),
    "the word of a proxy counts from it alone": (
        Edit(
            FORWARDED, "if https and entrance.identity_header and", "if entrance.identity_header or"
        ),
        Edit(
            FORWARDED,
            'return found[0].strip() if len(found) == 1 else ""',
            'return found[0].strip() if found else ""',
        ),
        Edit(
            "orchestrator/extensions/page/daemon_side/page_identity.py",
            "else identity.find_user(named)",
            "else identity.find_user(named) or next(iter(identity.users), None)",
        ),
    ),
    "no one's forms and streams keep others waiting": (
        Edit(BODIES, "if len(reading) > limits.at_once:", "if not reading:"),
        Edit(BODIES, "MAX_BODY = 1024 * 1024", "MAX_BODY = 9 * 1024 * 1024"),
        Edit(
            PAGE_GUARD,
            'LIMITED = frozenset({"/events", "/in"})',
            'LIMITED = frozenset({"/events"})',
        ),
        Edit(LIVE, "if own not in streams[-MAX_PER_SESSION:]:", "if own not in streams:"),
        Edit(LIVE, "min(len(own), MAX_PER_SESSION)", "len(own)"),
    ),
    "texts of others are inert on the page": (
        Edit(
            HIDDEN,
            "    if text.isascii() and text.isprintable():\n        return text\n",
            "    from markupsafe import Markup\n\n    return Markup(text)\n",
        ),
        Edit(MARKDOWN, '{"html": False}', '{"html": True}'),
        Edit(MARKDOWN, 'parser.add_render_rule("image", _render_picture)', "parser.reset_rules"),
        Edit(MARKDOWN, 'in {*SCHEMES, ""}', "is not None"),
    ),
    "rights depend on the fields that count": (
        Edit(
            PAGE_ACCESS,
            "    own = {to_camel(name): value for name, value in params.items()"
            " if _is_python_name(name)}\n    return {**own, **params}\n",
            "    return {to_camel(name): value for name, value in params.items()}\n",
        ),
    ),
    "the audit log has no tokens": (
        Edit(PAGE_ACCESS, "mask_tokens(v) if isinstance(v, str) else v", "v"),
    ),
    "a budget grows by a sum of money": (
        Edit(
            "orchestrator/extensions/spending_advice/cost_answers.py",
            "usd: float = Field(gt=0, le=MAX_EXTENSION, allow_inf_nan=False)",
            "usd: float = Field(ne=0)",
        ),
    ),
    "edits stay in the folder of their text": (
        Edit(
            "orchestrator/extensions/versions/home_files.py",
            "if regular_file.resolve_inside(root, self.path) is None:",
            "if not root.name:",
        ),
    ),
    "an edit replaces only the text that was read": (
        Edit(
            KEEPER,
            "conflict = base != edit.base",
            "conflict = base is None",
        ),
    ),
    "an undo ends only the change that was seen": (
        Edit(KEEPER, "newest is None or newest[0].number != asked.after:", "newest is None:"),
    ),
    "texts with errors are not saved": (
        Edit(
            KEEPER,
            'return report.conflict or any(one.severity == "error" for one in report.problems)',
            "return report.conflict",
        ),
    ),
    "texts are shown without their secrets": (
        Edit(MARKS, "for span in _list_spans(name, text):", "for span in list[_Span]():"),
    ),
    "a secret stays where secrets belong": (
        Edit(
            MARKS,
            "apart = secret is not None and secret.whole and not _is_in_field(spans, mark)",
            "apart = secret is not None and spans is None",
        ),
    ),
    "a key has the name of a key": (
        Edit(STORED_KEYS, "or not references.NAME.fullmatch(name)", "or not name"),
    ),
    "keys are no settings of programs": (
        Edit(
            STORED_KEYS,
            "if name.upper().startswith(OTHERS) or name.upper() in PLACES:",
            "if not name:",
        ),
    ),
}
