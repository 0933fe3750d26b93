"""The files of the front end, at addresses that contain what is in them.

They are read once, before the jail closes; a browser keeps them for a year.
"""

import hashlib
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
MANIFEST = "manifest.webmanifest"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


@cache
def _contents() -> dict[str, bytes]:
    found = {file.name: file.read_bytes() for file in STATIC.iterdir() if file.suffix in TYPES}
    icon = f"../{_digest(found['icon.svg'])}/icon.svg"  # seen from the manifest, below any path
    found[MANIFEST] = found[MANIFEST].replace(b"icon.svg", icon.encode())
    return found


@cache
def static_url(name: str) -> str:
    """Return the address of a file of the front end."""
    return f"/static/{_digest(_contents()[name])}/{name}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


async def serve_file(request: Request) -> Response:
    """Serve a file; an address of an older version is not known any more."""
    name = request.path_params["name"]
    if name not in _contents() or request.url.path != static_url(name):
        return Response("no such file\n", 404, media_type="text/plain")
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(_contents()[name], headers=headers, media_type=TYPES[Path(name).suffix])
