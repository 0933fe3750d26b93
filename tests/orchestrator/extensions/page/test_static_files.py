"""The files of the front end."""

import hashlib
import json
import re
from urllib.parse import urljoin

from orchestrator.extensions.page.static_files import (
    MANIFEST,
    STATIC,
    _load_contents,
    build_static_url,
)

MOST = 80_000  # bytes of all of it
OWN_SCRIPTS = 30_000


def test_vendored_files_are_those_that_were_published() -> None:
    """By their digests; each has its licence beside it."""
    for name, entry in json.loads((STATIC / "vendor.json").read_text()).items():
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == entry["sha256"]
        assert (STATIC / f"{entry['package']}.LICENSE").exists()


def test_front_end_is_small() -> None:
    """No framework, no font."""
    sizes = {file.name: file.stat().st_size for file in STATIC.iterdir()}
    assert sum(sizes.values()) <= MOST
    own = sum(size for name, size in sizes.items() if name.endswith(".js"))
    assert own - sizes["idiomorph.js"] <= OWN_SCRIPTS


def test_no_file_names_another_host() -> None:
    """Nothing is loaded from elsewhere."""
    for file in STATIC.iterdir():
        if file.suffix in {".js", ".css", ".svg", ".webmanifest"}:
            found = set(re.findall(r"https?://[a-z0-9.]+", file.read_text()))
            assert found <= {"http://www.w3.org"}, file.name


def test_address_says_what_is_in_a_file() -> None:
    """A changed file has another one."""
    digest = hashlib.sha256((STATIC / "page.css").read_bytes()).hexdigest()
    assert build_static_url("page.css") == f"/static/{digest[:12]}/page.css"


def test_manifest_leads_to_the_page_and_its_icon_below_any_path() -> None:
    """Addresses in it are seen from where it lies."""
    for prefix in ("", "/agents"):
        manifest, place = (
            json.loads(_load_contents()[MANIFEST]),
            prefix + build_static_url(MANIFEST),
        )
        assert urljoin(place, manifest["start_url"]) == f"{prefix}/"
        (icon,) = manifest["icons"]
        assert urljoin(place, icon["src"]) == prefix + build_static_url("icon.svg")
