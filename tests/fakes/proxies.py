"""Real proxies before the page, with the configuration that the manual gives."""

import os
import shutil
import signal
import ssl
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from fakes.certificate import certificate
from fakes.manual import REFERENCES, examples
from fakes.time_limit import LIMIT, time_limit
from httpx import AsyncClient, Response

from orchestrator.child_signals import signal_child
from orchestrator.testing.loopback import find_free_port

PASSWORD = "secret"
HOST, PREFIX = "agents.example.org", "/agents"
PROGRAMS = {
    name: shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in ("nginx", "caddy")
}
NGINX = """
daemon off;
error_log stderr notice;
pid {folder}/pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}
}}
"""
CADDY = "{{\n    admin off\n    auto_https off\n    storage file_system {folder}\n}}\n{server}"


def recipe(kind: str, words: str) -> str:
    """The example of the manual's page that has these words."""
    found = [example.text for example in examples(REFERENCES / "page.md") if example.info == kind]
    (text,) = [example for example in found if words in example]
    return text


@dataclass(frozen=True)
class ProxyPlaces:
    """Where a proxy listens by https and by http, and where the page does."""

    https: int
    http: int
    page: str


@dataclass(frozen=True)
class ProxiedBrowser:
    """A browser that knows the proxy by its name."""

    client: AsyncClient
    origin: str

    async def get(self, path: str, **headers: str) -> Response:
        """Open an address below the prefix."""
        return await self.client.get(PREFIX + path, headers=headers)

    async def post(self, path: str, data: Mapping[str, str], **headers: str) -> Response:
        """Send a form of the page."""
        own = {"origin": self.origin, "sec-fetch-site": "same-origin", **headers}
        return await self.client.post(PREFIX + path, data=dict(data), headers=own)


@asynccontextmanager
async def browser(
    folder: Path, places: ProxyPlaces, person: str = ""
) -> AsyncIterator[ProxiedBrowser]:
    """A browser that trusts the proxy's certificate; a person logs in there as `PASSWORD`."""
    trusted = ssl.create_default_context(cafile=str(folder / "certificate.pem"))
    async with AsyncClient(
        base_url=f"https://127.0.0.1:{places.https}",
        verify=trusted,
        timeout=LIMIT,
        auth=(person, PASSWORD) if person else None,
        headers={"host": f"{HOST}:{places.https}"},
    ) as client:
        client.event_hooks["request"] = [_by_name]
        yield ProxiedBrowser(client, f"https://{HOST}:{places.https}")


async def _by_name(request: object) -> None:
    request.extensions["sni_hostname"] = HOST  # type: ignore[attr-defined]  # of httpx


@asynccontextmanager
async def nginx(folder: Path, page: str, extra: str = "") -> AsyncIterator[ProxyPlaces]:
    """Nginx by the manual; ``extra`` stands in place of the header that it empties."""
    places = ProxyPlaces(find_free_port(), find_free_port(), page)
    text = recipe("nginx", "server {").replace(
        "listen 443 ssl;", f"listen 127.0.0.1:{places.https} ssl; listen 127.0.0.1:{places.http};"
    )
    pem = certificate(folder, HOST)
    for of in ("pem", "key"):
        text = text.replace(f"/etc/ssl/agents.{of}", str(pem))
    text = text.replace("http://127.0.0.1:8485", page)
    if extra:
        text = text.replace('proxy_set_header X-Forwarded-Email "";', extra)
    config = folder / "nginx.conf"
    user = "user root;\n" if os.geteuid() == 0 else ""  # otherwise its workers are someone else
    config.write_text(user + NGINX.format(folder=folder, server=text), "utf-8")
    argv = (str(PROGRAMS["nginx"]), "-e", "stderr", "-p", str(folder), "-c", str(config))
    async with _running(argv, b"start worker processes"):
        yield places


@asynccontextmanager
async def caddy(folder: Path, page: str, extra: str = "") -> AsyncIterator[ProxyPlaces]:
    """Caddy by the manual; ``extra`` stands in place of the header that it removes."""
    places = ProxyPlaces(find_free_port(), find_free_port(), page)
    pem = certificate(folder, HOST)
    text = recipe("caddyfile", HOST).replace("127.0.0.1:8485", page.removeprefix("http://"))
    if extra:
        text = text.replace("header_up -X-Forwarded-Email", extra)
    begin, own = f"{HOST} {{", f"    bind 127.0.0.1\n    tls {pem} {pem}"
    secure = text.replace(begin, f"https://{HOST}:{places.https} {{\n{own}")
    plain = text.replace(begin, f"http://{HOST}:{places.http} {{\n    bind 127.0.0.1")
    config = folder / "Caddyfile"
    config.write_text(CADDY.format(folder=folder, server=secure + plain), "utf-8")
    argv = (str(PROGRAMS["caddy"]), "run", "--adapter", "caddyfile", "--config", str(config))
    async with _running(argv, b"serving initial configuration", {"HOME": str(folder)}):
        yield places


@asynccontextmanager
async def _running(
    argv: tuple[str, ...], listens: bytes, env: Mapping[str, str] | None = None
) -> AsyncIterator[None]:
    """Run a proxy in the foreground, and wait until it logs that it ``listens``."""
    async with await anyio.open_process(
        argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env
    ) as process:
        log = bytearray()
        started = anyio.Event()

        async def read() -> None:
            assert process.stderr is not None
            async for piece in process.stderr:
                log.extend(piece)
                if listens in log:
                    started.set()
            started.set()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                with time_limit():
                    await started.wait()
                if listens not in log:
                    raise RuntimeError(log.decode())
                yield
                tasks.cancel_scope.cancel()
        finally:
            signal_child(process, signal.SIGTERM)
            with anyio.CancelScope(shield=True), time_limit():
                await process.wait()
