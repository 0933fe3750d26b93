"""A chat system of the channel host that does not exist, as its folder says of itself: pigeons."""

import json
from pathlib import Path

KIND = {
    "title": "Pigeon",
    "options": {
        "loft": {"about": "Address of the loft.", "pattern": "https?://.+", "must": "an address"},
        "ring": {"about": "Its ring.", "pattern": r"[a-z]+-\d+", "must": "a ring, such as bot-1"},
        "grain": {"about": "Its food.", "pattern": r"\w+", "must": "a word", "default": "corn"},
    },
    "secrets": {"PIGEON_TOKEN": "ask its keeper"},
    "limit": 1000,
    "id_pattern": r"[a-z]+-\d+",
    "id_example": "ann-7",
}


def write_pigeon_folder(folder: Path) -> Path:
    """Write the folder of pigeons into another one; return it."""
    pigeon = folder / "channelhost" / "pigeon"
    pigeon.mkdir(parents=True)
    (pigeon / "channel.json").write_text(json.dumps(KIND), "utf-8")
    return pigeon
