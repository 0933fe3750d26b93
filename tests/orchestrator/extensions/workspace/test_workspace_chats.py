"""Each chat of an agent works in a folder of its own."""

import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.server_client import ServerClient, workspace

from orchestrator.home_paths import name_scope_folder
from thinker.jail import landlock

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(landlock.read_abi_version() < landlock.ABI_SCOPE, reason="needs Landlock 6"),
]
ANN, BOB = name_scope_folder("telegram:1"), name_scope_folder("telegram:2")
PROGRAM = "#!/bin/sh\necho planted\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the workspaces."""
    found = tmp_path_factory.mktemp("work")
    (found / "chats").mkdir()
    return found


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServerClient]:
    """The server of an agent's workspaces."""
    chats = str(folder / "chats")
    with workspace(
        folder, lambda s: replace(s, chats=chats, programs=f"{chats}/programs")
    ) as found:
        yield found


def test_file_of_a_chat_is_in_no_other_chat(client: ServerClient, folder: Path) -> None:
    """Neither by its name, nor by its path, nor by a search or a command; nor is the operator's."""
    client.call("write_file", path="own.txt", content="the operator's")
    assert "Wrote" in client.call_in(ANN, "write_file", path="note.txt", content="of Ann")
    stored = folder / "chats" / ANN / "note.txt"
    assert stored.read_text("utf-8") == "of Ann"
    assert stat.S_IMODE(stored.parent.stat().st_mode) == 0o700
    for chat in (BOB, ""):
        assert "does not exist" in client.call_in(chat, "read_file", path="note.txt")
        assert "outside" in client.call_in(chat, "read_file", path=str(stored))
        assert "note.txt" not in client.call_in(chat, "list_dir")
        assert "of Ann" not in client.call_in(chat, "search_files", text="of Ann")
        told = client.call_in(chat, "run_command", command=f"cat {stored}; ls .. {folder}/chats")
        assert "of Ann" not in told
        assert ANN not in told.partition("stderr:")[0]
    read = client.call_in(BOB, "run_command", command=f"cat {folder}/ws/own.txt")
    assert "the operator's" not in read


def test_program_of_a_chat_runs_in_no_other_chat(client: ServerClient) -> None:
    """What is left in a chat's own folder of programs is found by this chat alone."""
    client.call_in(ANN, "write_file", path=".local/bin/git", content=PROGRAM)
    client.call_in(ANN, "run_command", command="chmod +x .local/bin/git")
    assert "planted" in client.call_in(ANN, "run_command", command="git --version")
    for chat in (BOB, ""):
        assert "planted" not in client.call_in(chat, "run_command", command="git --version")


def test_programs_of_the_operator_run_in_every_chat(client: ServerClient, folder: Path) -> None:
    """No chat can change them."""
    program = folder / "chats" / "programs" / "bin" / "hello"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\necho good day\n", "utf-8")
    program.chmod(0o755)
    for chat in (ANN, ""):
        assert "good day" in client.call_in(chat, "run_command", command="hello")
        told = client.call_in(chat, "run_command", command=f"echo exit > {program}")
        assert "ermission denied" in told
        assert "outside" in client.call_in(chat, "write_file", path=str(program), content="x")


@pytest.mark.parametrize("name", ["..", "../ws", "programs", f"{ANN}/..", "a" * 300, "/etc"])
def test_name_that_is_no_folder_is_refused(client: ServerClient, name: str) -> None:
    """The call does not fall back to the folder of the operator."""
    assert "cannot be found" in client.call_in(name, "list_dir")


def test_server_without_folders_of_chats_refuses_a_chat(folder: Path) -> None:
    """It never takes the operator's folder for another's."""
    with workspace(folder) as alone:
        alone.call("write_file", path="alone.txt", content="the operator's")
        assert "cannot be found" in alone.call_in(ANN, "list_dir")
        assert "alone.txt" in alone.call("list_dir")
