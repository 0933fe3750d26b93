"""Recognize secrets, which must not be remembered and sent to models with every prompt.

Keys and tokens are recognized by the format of their issuers, and passwords by the words before
them. A password without such words is not recognized. Every pattern takes a time linear in the
text: what repeats without a bound cannot begin again within its own match. Megabytes are searched
for the formats of issuers, so each of these begins with characters that a search can skip to.
"""

import re
from collections.abc import Iterator

RULES = (
    ("a private key", re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")),
    (
        "an API key or token",
        re.compile(
            r"[abeghnprsx\d](?<!\w.)(?:"  # the beginning of a word
            r"(?-i:(?<=A)[KS]IA[A-Z0-9]{16})"  # AWS
            r"|(?<=[srp])k[-_][\w-]{16,}"  # OpenAI, Anthropic, Stripe
            r"|(?<=g)(?:h[pousr]_[A-Za-z0-9]{20,}|ithub_pat_\w{20,}|lpat-[\w-]{16,})"
            r"|(?<=x)ox[a-z]-[\w-]{10,}|(?<=a)Iza[\w-]{30,}"
            r"|(?:(?<=g)sk|(?<=h)f|(?<=n)pm)_[A-Za-z0-9]{20,}"
            r"|(?<=\d)\d{7,9}:[\w-]{35}"  # Telegram
            r"|(?<=e)yJ[\w-]{10,500}\.[\w-]{10,}\.[\w-]*"  # JSON web tokens
            r"|(?<=b)earer\s+[\w.~+/-]{16,})",
            re.IGNORECASE,
        ),
    ),
    ("a connection string with a password", re.compile(r"://(?<=([\w+.-])://)[^\s/@:]*:[^\s/@]+@")),
    (
        "a password or secret",
        re.compile(
            r"(?:pass(?:word|wd|code|phrase)|\bpwd|\bpin(?: code)?|secret|token|credentials?"
            r"|(?:api|access|account|private|secret|encryption)[ _-]?key)s?\b['\"]?"
            # After "is", only a word that looks like a secret: "the password is easy" is harmless.
            r"(?:\s*[:=]\s*\S|\s+(?:is|was)\s+['\"]?(?=\S*[\d!@#$%^&*])\S{4,})",
            re.IGNORECASE,
        ),
    ),
    ("a social security number", re.compile(r"\b(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}\b")),
)
KEY_BLOCK = "-----BEGIN"
FORMATS = 3  # rules that words around a secret have no part in
CARD = re.compile(r"(?<![\d.+-])[2-6]\d{3}(?:[ -]?\d){9,15}(?![\d.])")  # 2-6: the payment networks
CARD_DIGITS = range(13, 20)


def detect_secret_kind(text: str) -> str | None:
    """Return the kind of secret in a text, such as ``a card number``, or None."""
    return next(_list_secrets(text), None)


def iter_token_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a text has keys, tokens and passwords of addresses, by their format alone."""
    found = sorted(
        (match.start(match.lastindex or 0), match.end())  # a group is what comes before
        for _, rule in RULES[:FORMATS]
        for match in rule.finditer(text)
    )
    until = 0
    for start, known in found:
        if start >= until:
            last = text.find("-----END", known) if text.startswith(KEY_BLOCK, start) else known
            until = len(text) if last < 0 else last
            yield start, until


def mask_tokens(text: str) -> str:
    """Return a sentence in which everything that looks like a token is a mark."""
    for start, end in reversed(list(iter_token_spans(text))):
        text = f"{text[:start]}[secret]{text[end:]}"
    return text


def _list_secrets(text: str) -> Iterator[str]:
    yield from (kind for kind, rule in RULES if rule.search(text))
    for number in CARD.findall(text):
        digits = [int(character) for character in number if character.isdigit()]
        if len(digits) in CARD_DIGITS and _has_valid_check_digit(digits):
            yield "a card number"


def _has_valid_check_digit(digits: list[int]) -> bool:
    """Return whether the check digit of ISO/IEC 7812 is right."""
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
