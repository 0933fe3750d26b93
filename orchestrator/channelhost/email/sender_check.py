"""Whether a mail is from the address that it names, as the receiving server found (RFC 8601). Pure.

Anyone can write any address into ``From``. The server that took the mail in compares it with where
the mail came from and who signed it, and writes what it found into ``Authentication-Results``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

TRUST = "trustSender"  # in place of a server's name: believe every sender
MAX_FIELD = 20_000  # characters
_RESULT = re.compile(r"\s*([\w-]+)(?:\s*/\s*\d+)?\s*=\s*(\w+)(?![\w-])(.*)", re.DOTALL)
_PROPERTY = re.compile(r"([\w-]+\.[\w-]+)\s*=\s*(\S+)")
_PLAIN = re.compile(r"[\w.@+=/-]")


class _Finding(NamedTuple):
    method: str
    result: str
    properties: Mapping[str, str]

    def domain(self, *names: str) -> str:
        """Return the domain in the first of these properties."""
        found = next((self.properties[name] for name in names if name in self.properties), "")
        return found.rpartition("@")[2].rstrip(".")


def unverified(fields: Sequence[str], server: str, domain: str) -> str | None:
    """Return why a mail may not be from its domain; None if the server says that it is.

    Only the topmost field of the server counts: it adds its own above all that a mail brings along.
    A mail is from its domain if DMARC passes for it, or, where the domain has no DMARC, if SPF or a
    signature passes for it or for a domain above it.

    Args:
        fields: values of ``Authentication-Results``, the topmost first.
        server: name of the server that is believed, or `TRUST`.
        domain: the domain in ``From``, in small letters.
    """
    if server == TRUST:
        return None
    for field in fields:
        name, findings = _parsed(field)
        if name == server.lower():
            passed = findings is not None and _from_domain(findings, domain)
            return None if passed else "the mail server could not verify the sender"
    return f"no mail server named {server} has verified the sender; see verifiedBy"


def _from_domain(findings: Sequence[_Finding], domain: str) -> bool:
    policy = [found for found in findings if found.method == "dmarc" and found.result != "none"]
    if policy:
        return all(
            found.result == "pass" and found.domain("header.from") == domain for found in policy
        )
    for found in findings:
        if found.method == "dkim":
            signer = found.domain("header.d", "header.i")
        elif found.method == "spf":
            signer = found.domain("smtp.mailfrom")
        else:
            continue
        if found.result == "pass" and _covers(signer, domain):
            return True
    return False


def _covers(signer: str, domain: str) -> bool:
    return signer == domain or ("." in signer and domain.endswith(f".{signer}"))


def _parsed(field: str) -> tuple[str, list[_Finding] | None]:
    """Return the server's name and what it found; None for what nothing can be said of."""
    text = "".join(_uncommented(field[:MAX_FIELD])).lower()
    name, *results = text.split(";")
    name = (name.split() or [""])[0]
    if "\0" in text or len(field) > MAX_FIELD:
        return name, None
    return name, [
        _Finding(found[1], found[2], _properties(found[3]))
        for found in map(_RESULT.match, results)
        if found is not None
    ]


def _properties(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _PROPERTY.findall(text):
        found.setdefault(name, value)  # what follows may be a stranger's words
    return found


def _uncommented(field: str) -> Iterator[str]:
    """Yield a field's characters without comments, and without what has a meaning inside quotes.

    A field whose quotes or comments do not end has a NUL.
    """
    depth, quoted, escaped = 0, False, False
    for char in field:
        if escaped:
            escaped = False
        elif char == "\\" and (quoted or depth):
            escaped = True
        elif quoted:
            quoted = char != '"'
            if quoted:
                yield char if _PLAIN.match(char) else "?"
        elif depth or char == "(":
            depth += {"(": 1, ")": -1}.get(char, 0)
            if not depth:
                yield " "
        elif char == '"':
            quoted = True
        else:
            yield " " if char == "\0" else char
    if depth or quoted:
        yield "\0"
