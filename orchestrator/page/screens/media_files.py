"""Files of chats: as they stand in one, and each as itself."""

from collections.abc import Iterable
from urllib.parse import quote

import htpy as h
from starlette.responses import Response

from orchestrator.journal.inspect import chat_files
from orchestrator.journal.inspect.chat_files import FileLine
from orchestrator.page.html import figures
from orchestrator.page.html.forms import link
from orchestrator.page.html.outside_text import short
from orchestrator.page.visit import Visit
from thinker.formats import recordings
from thinker.formats.images import media_type

ALONE = "default-src 'none'; sandbox"  # what a file may do that a browser opens
PICTURE = f"{ALONE}; style-src 'unsafe-inline'"  # browsers centre a picture with a style


async def serve_media(visit: Visit) -> Response:
    """Return a file of a chat that the session sees; all but pictures and sound is saved."""
    found = await visit.journal(chat_files.shown, visit.path["id"], visit.visitor.sees)
    if found is None:
        text = "There is no such file in your chats; it may have been removed because of its age.\n"
        return Response(text, 404, media_type="text/plain")
    picture = media_type(found.data[:16])
    sound = None if picture else recordings.sound_type(found.data[:16])
    way = "inline" if picture or sound else "attachment"
    name = quote(" ".join(found.name.split()), safe="")
    headers = {
        "content-disposition": f"{way}; filename*=UTF-8''{name}",
        "content-security-policy": PICTURE if picture else ALONE,
        "cache-control": "private, no-cache",
    }
    kind = picture or sound or "application/octet-stream"
    return Response(found.data, headers=headers, media_type=kind)


def files(found: Iterable[FileLine]) -> h.Node:
    """Draw files: pictures as themselves, sound with a player, others as links."""
    drawn = [_drawn(file) for file in found]
    return h.ul(class_="files")[(h.li[node] for node in drawn)] if drawn else None


def _drawn(file: FileLine) -> h.Node:
    name = short(file.name, 60)
    if file.problem:
        return h.small[name, f", {file.problem}"]
    place = link("media", file.media_id)
    if file.picture:
        picture = h.img(src=place, alt="", loading="lazy")
        return h.a(href=place, target="_blank", rel="noopener")[picture, h.small[name]]
    if file.sound:
        player = h.audio(src=place, controls=True, preload="none", aria_label=name)
        return h.span[player, h.a(href=place)[h.small[name]]]
    return h.a(href=place)[name, " ", h.small[figures.size(file.size)]]
