"""Tell from a tool's name whether it sends, pays or deletes.

The words are verbs and their nouns, in English, as servers name tools. A command or a script that
sends is not recognized.
"""

import re
from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "send": (
        "announce broadcast dm email forward invite mail message notify post publish reply send"
        " share sms submit tweet"
    ),
    "pay": (
        "bet book buy charge checkout donate invoice order pay payment payout purchase refund"
        " remit rent reserve subscribe tip transfer wire withdraw"
    ),
    "delete": (
        "cancel clear close delete destroy drop erase purge remove revoke terminate trash"
        " uninstall unpublish unsubscribe wipe"
    ),
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CLASSES = {word: name for name, words in WORDS.items() for word in words.split()}


def find_effect_classes(tool: str) -> frozenset[str]:
    """Return the classes of a tool: ``send``, ``pay``, ``delete``."""
    words = [word.lower() for word in _WORD.findall(tool)]
    found = (_CLASSES.get(word) or _CLASSES.get(word.removesuffix("s")) for word in words)
    return frozenset(name for name in found if name is not None)
