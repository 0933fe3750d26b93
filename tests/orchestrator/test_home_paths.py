"""The names of files and folders of a home."""

from pathlib import Path

import pytest

from orchestrator.home_paths import Paths, name_scope_folder


@pytest.mark.parametrize(
    "scope", ["telegram:1", "api:../../x", "matrix:!a:b.c", "web:" + "ä" * 400]
)
def test_folder_of_a_scope_has_a_name_that_stays_below(scope: str) -> None:
    """Whatever a client calls its users."""
    name = name_scope_folder(scope)
    assert len(name) <= 64
    assert not set(name) & set("/.\0 %")


def test_scopes_that_look_alike_have_folders_of_their_own() -> None:
    """Also where the file system does not tell upper case from lower case."""
    scopes = ("api:ann", "api:Ann", "api:ann ", "api:a:nn", "api/ann", "telegram:ann")
    assert len({name_scope_folder(scope).lower() for scope in scopes}) == len(scopes)


def test_folder_of_the_operator_has_no_name_of_its_own() -> None:
    """It is the folder of the agent."""
    assert name_scope_folder("") == ""


def test_workspaces_of_a_scope_are_found_in_all_agents(tmp_path: Path) -> None:
    """Those of other scopes are not."""
    paths = Paths(tmp_path)
    wanted = [paths.find_chat_workspaces(name) / name_scope_folder("api:ann") for name in "ab"]
    for folder in (*wanted, paths.find_chat_workspaces("a") / name_scope_folder("api:bob")):
        folder.mkdir(parents=True)
    assert sorted(paths.list_scope_workspaces(["api:ann", "api:eve"])) == wanted
