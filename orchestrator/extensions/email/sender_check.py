"""Check a mail's sender address by the receiving server's findings (RFC 8601). Pure.

Anyone can write any address into ``From``. The receiving server compares it with the mail's origin
and signatures, and writes its findings into ``Authentication-Results``.

Where: is the sender of a mail verified?
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

TRUST = "trustSender"  # in place of a server's name: trust every sender
MAX_FIELD = 20_000  # characters
_RESULT = re.compile(r"\s*([\w-]+)(?:\s*/\s*\d+)?\s*=\s*(\w+)(?![\w-])(.*)", re.DOTALL)
_PROPERTY = re.compile(r"([\w-]+\.[\w-]+)\s*=\s*(\S+)")
_PLAIN = re.compile(r"[\w.@+=/-]")


class _Finding(NamedTuple):
    method: str
    result: str
    properties: Mapping[str, str]

    def find_domain(self, *names: str) -> str:
        """Return the domain in the first of these properties."""
        found = next((self.properties[name] for name in names if name in self.properties), "")
        return found.rpartition("@")[2].rstrip(".")


def check_sender_domain(fields: Sequence[str], server: str, domain: str) -> str | None:
    """Return the reason why a mail may not be from its domain; None if the server verified it.

    Only the server's topmost field counts: it adds its own above those in the mail. A mail is from
    its domain if DMARC passes for it, or, where the domain has no DMARC, if SPF or a signature
    passes for it or for a domain above it.

    Args:
        fields: values of ``Authentication-Results``, the topmost first.
        server: name of the trusted server, or `TRUST`.
        domain: the domain in ``From``, in lower case.
    """
    if server == TRUST:
        return None
    for field in fields:
        name, findings = _parse_results(field)
        if name == server.lower():
            passed = findings is not None and _is_from_domain(findings, domain)
            return None if passed else "the mail server could not verify the sender"
    return f"no mail server named {server} has verified the sender; see verifiedBy"


def _is_from_domain(findings: Sequence[_Finding], domain: str) -> bool:
    policy = [found for found in findings if found.method == "dmarc" and found.result != "none"]
    if policy:
        return all(
            found.result == "pass" and found.find_domain("header.from") == domain
            for found in policy
        )
    for found in findings:
        if found.method == "dkim":
            signer = found.find_domain("header.d", "header.i")
        elif found.method == "spf":
            signer = found.find_domain("smtp.mailfrom")
        else:
            continue
        if found.result == "pass" and _covers_domain(signer, domain):
            return True
    return False


def _covers_domain(signer: str, domain: str) -> bool:
    return signer == domain or ("." in signer and domain.endswith(f".{signer}"))


def _parse_results(field: str) -> tuple[str, list[_Finding] | None]:
    """Return the server's name and its findings; None for a malformed field."""
    text = "".join(_strip_comments(field[:MAX_FIELD])).lower()
    name, *results = text.split(";")
    name = (name.split() or [""])[0]
    if "\0" in text or len(field) > MAX_FIELD:
        return name, None
    return name, [
        _Finding(found[1], found[2], _parse_properties(found[3]))
        for found in map(_RESULT.match, results)
        if found is not None
    ]


def _parse_properties(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in _PROPERTY.findall(text):
        found.setdefault(name, value)  # later ones may be a stranger's words
    return found


def _strip_comments(field: str) -> Iterator[str]:
    """Yield a field's characters without comments, and without special ones inside quotes.

    An unclosed quote or comment yields a NUL.
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
