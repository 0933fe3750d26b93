"""The front end's files, at addresses that contain a hash of their content.

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
def _load_contents() -> dict[str, bytes]:
    found = {file.name: file.read_bytes() for file in STATIC.iterdir() if file.suffix in TYPES}
    # Seen from the manifest, below any path.
    icon = f"../{_compute_digest(found['icon.svg'])}/icon.svg"
    found[MANIFEST] = found[MANIFEST].replace(b"icon.svg", icon.encode())
    return found


@cache
def build_static_url(name: str) -> str:
    """Return the address of a file of the front end."""
    return f"/static/{_compute_digest(_load_contents()[name])}/{name}"


def _compute_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


async def serve_file(request: Request) -> Response:
    """Serve a file; addresses of older versions are unknown."""
    name = request.path_params["name"]
    if name not in _load_contents() or request.url.path != build_static_url(name):
        return Response("no such file\n", 404, media_type="text/plain")
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(_load_contents()[name], headers=headers, media_type=TYPES[Path(name).suffix])
