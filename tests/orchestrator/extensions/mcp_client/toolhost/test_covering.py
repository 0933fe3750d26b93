"""What remains of the machine without some folders."""

from pathlib import Path

from orchestrator.extensions.mcp_client.toolhost.covering import cover_all_but, is_inside


def test_hidden_folders_are_left_out_and_all_beside_them_stays(tmp_path: Path) -> None:
    """Only the folders on the way to a hidden one are opened up."""
    for name in ("user/home/deep", "user/other/deep", "user/.config/ours", "user/.config/theirs"):
        (tmp_path / name).mkdir(parents=True)
    hidden = [str(tmp_path / "user/home"), str(tmp_path / "user/.config/ours")]
    found = cover_all_but(hidden, [str(tmp_path)])
    assert found == [str(tmp_path / "user/.config/theirs"), str(tmp_path / "user/other")]


def test_link_into_a_hidden_folder_opens_nothing(tmp_path: Path) -> None:
    """What it leads to would be granted in its name."""
    (tmp_path / "home").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "home")
    assert cover_all_but([str(tmp_path / "home")], [str(tmp_path)]) == []
    assert cover_all_but([str(tmp_path / "way")], [str(tmp_path)]) == []


def test_whole_machine_without_a_folder_holds_its_neighbors(tmp_path: Path) -> None:
    """The top folders are there, and the hidden folder with what leads to it is not."""
    found = cover_all_but([str(tmp_path)])
    assert "/usr" in found
    assert not any(is_inside(str(tmp_path), [path]) for path in found)


def test_hidden_folder_that_does_not_exist_cannot_be_made(tmp_path: Path) -> None:
    """The folder that it would be made in is not granted as a whole."""
    assert cover_all_but([str(tmp_path / "later")], [str(tmp_path)]) == []


def test_folder_is_inside_itself_and_not_inside_one_with_a_longer_name() -> None:
    """Names are compared as a whole."""
    assert is_inside("/a/b", ["/a/b"])
    assert is_inside("/a/b/c", ["/a/b"])
    assert is_inside("/a", ["/"])
    assert not is_inside("/a/bc", ["/a/b"])
