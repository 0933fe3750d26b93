"""The cursor says for each place what is stored."""

from orchestrator.extensions.discord.discord_progress import (
    LATE,
    MAX_PRIVATE,
    PRIVATE,
    DiscordProgress,
    build_id_at,
)

NOW = 1_800_000_000_000


def test_a_session_begins_a_little_before_the_last_message() -> None:
    """A message may come after one with a greater id."""
    progress = DiscordProgress(after=build_id_at(NOW))
    progress.begin_session([7])
    assert progress.behind == {PRIVATE: build_id_at(NOW - LATE), 7: build_id_at(NOW - LATE)}


def test_a_server_that_is_behind_stays_where_it_is() -> None:
    """Also over restarts; one that the bot has left is forgotten."""
    progress = DiscordProgress(after=build_id_at(NOW), behind={7: 5, 8: 6})
    progress.record_stored(build_id_at(NOW + 1))
    progress.record_stored(build_id_at(NOW))
    read = DiscordProgress.model_validate_json(progress.model_dump_json())
    read.mark_server_lost(7)
    read.begin_session([7])
    assert (read.after, read.behind[7], 8 in read.behind) == (build_id_at(NOW + 1), 5, False)


def test_the_private_chats_that_were_used_last_are_kept() -> None:
    """So the cursor stays small."""
    progress = DiscordProgress(after=0)
    assert not any(progress.keep_private_chat(chat) for chat in range(MAX_PRIVATE))
    assert progress.keep_private_chat(0)
    assert not progress.keep_private_chat(MAX_PRIVATE)
    assert (progress.keep_private_chat(0), progress.keep_private_chat(1)) == (True, False)
