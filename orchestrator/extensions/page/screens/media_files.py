"""Files of chats, shown in the chat or separately."""

from collections.abc import Iterable
from urllib.parse import quote

import htpy as h
from starlette.responses import Response

from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import shorten_text
from orchestrator.extensions.page.reads import chat_places
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.journal.inspect.chat_files import FileLine
from thinker.formats import recordings
from thinker.formats.images import detect_image_type

ALONE = "default-src 'none'; sandbox"  # rights of a file that a browser opens
PICTURE = f"{ALONE}; style-src 'unsafe-inline'"  # browsers centre a picture with a style


async def serve_media(request: ScreenRequest) -> Response:
    """Serve a file of a visible chat; everything but pictures and sound is a download."""
    found = await request.journal(
        chat_places.find_visible_file, request.path["id"], request.viewer.can_see_chat
    )
    if found is None:
        text = "None of your chats has this file; it may have been removed because of its age.\n"
        return Response(text, 404, media_type="text/plain")
    picture = detect_image_type(found.data[:16])
    sound = None if picture else recordings.detect_sound_type(found.data[:16])
    way = "inline" if picture or sound else "attachment"
    name = quote(" ".join(found.name.split()), safe="")
    headers = {
        "content-disposition": f"{way}; filename*=UTF-8''{name}",
        "content-security-policy": PICTURE if picture else ALONE,
        "cache-control": "private, no-cache",
    }
    kind = picture or sound or "application/octet-stream"
    return Response(found.data, headers=headers, media_type=kind)


def render_files(found: Iterable[FileLine]) -> h.Node:
    """Render files: pictures inline, sound with a player, others as links."""
    drawn = [_render_file(file) for file in found]
    return h.ul(class_="files")[(h.li[node] for node in drawn)] if drawn else None


def _render_file(file: FileLine) -> h.Node:
    name = shorten_text(file.name, 60)
    if file.problem:
        return h.small[name, f", {file.problem}"]
    place = build_link("media", file.media_id)
    if file.picture:
        picture = h.img(src=place, alt="", loading="lazy")
        return h.a(href=place, target="_blank", rel="noopener")[picture, h.small[name]]
    if file.sound:
        player = h.audio(src=place, controls=True, preload="none", aria_label=name)
        return h.span[player, h.a(href=place)[h.small[name]]]
    return h.a(href=place)[name, " ", h.small[figures.format_size(file.size)]]
