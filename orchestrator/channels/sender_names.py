"""Show senders' names, which strangers choose, so that none passes for another one."""

import re
import unicodedata

from thinker.protocol.visible_text import clean_name

MAX_NAME = 255  # characters
_ADDRESS = re.compile(r"@\w")


def format_sender_name(name: str, sender_id: str) -> str:
    """Return a name in one line without hidden signs.

    One that looks like an address comes after the sender's real id, unless it is that.
    """
    shown = clean_name(name)
    plain = unicodedata.normalize("NFKC", shown).casefold()
    if _ADDRESS.search(plain) and plain != sender_id.casefold():
        shown = f"{sender_id} ({shown})"
    return shown[:MAX_NAME]
