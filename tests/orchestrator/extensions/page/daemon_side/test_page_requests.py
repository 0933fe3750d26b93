"""What people do on the page, carried out and audited."""

from pathlib import Path

from fakes.page import page_bench

from orchestrator.control import protocol
from orchestrator.control.editing import FILE_SAVE, EditReport
from thinker.protocol.peer import FAILED, RpcError


async def test_failed_act_is_audited_as_not_done(tmp_path: Path) -> None:
    """One that raises, and one whose answer says so, such as an edit with a conflict."""
    async with page_bench(tmp_path) as bench:

        async def refuse(params: object) -> protocol.Ack:
            del params
            raise RpcError(FAILED, "no")

        async def conflict(params: object) -> EditReport:
            del params
            return EditReport(name="agents.json", text="", base="1", conflict=True)

        bench.answers |= {protocol.RELOAD: refuse, FILE_SAVE: conflict}
        person = await bench.login()
        await person.act(protocol.RELOAD, {})
        await person.act(FILE_SAVE, {"name": "agents.json", "base": "0", "text": "{"})
        kept = await bench.store.read(
            lambda db: [str(act) for (act,) in db.execute("SELECT act FROM audit ORDER BY id")]
        )
        assert kept == ["reload", "reload not done", "files/save", "files/save not done"]
