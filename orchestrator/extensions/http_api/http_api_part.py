"""The HTTP API in a daemon: its channels, its server and the agents' ports."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pydantic import JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.channels.stored_replies import JournalChannel
from orchestrator.control import protocol
from orchestrator.extension import DaemonView, Part, Route
from orchestrator.extensions.http_api.agent_ports import AgentPorts
from orchestrator.extensions.http_api.api_channel import ApiChannel
from orchestrator.extensions.http_api.api_service import ApiService
from orchestrator.extensions.http_api.node_link import CALLS, NodeLink
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import Peer, RequestHandler

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

API_REFRESH = "api/refresh"  # → Ack, after the token of the endpoints has changed


class HttpApiPart(Part):
    """Serves the endpoints, and the ports of agents that have one."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._channel, self._ports_changed = ApiChannel(daemon.store), Wakeup()
        self._nodes = NodeLink(daemon)
        self._service = ApiService(daemon, self._channel, self._nodes)

    async def list_adapters(self) -> tuple[JournalChannel, ...]:
        daemon = self.daemon
        ports = AgentPorts(
            store=daemon.store,
            token_file=daemon.settings.paths.http_token,
            agents=daemon.get_agents_file,
            configured=self._wait_for_ports,
            where=daemon.configuration.find_field_place,
        )
        return self._channel, ports

    async def open(self) -> None:
        await self._nodes.open()
        await self._service.open()

    async def run(self) -> None:
        await self._service.run()

    async def close(self) -> None:
        await self._service.stop()
        self._nodes.close()

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        """Adopt the settings of the endpoints, the webhooks and the agents' ports."""
        if old.channels != new.channels:
            self._service.wake()
        if _list_ports(old) != _list_ports(new):
            self._ports_changed.wake()

    def list_routes(self) -> Iterable[Route]:
        if not self.daemon.store.is_shared:
            return ()
        named = self.daemon.settings.node_url != ""
        return (Route(CALLS, self._answer_node_call, methods=("POST",), opens_port=named),)

    async def _answer_node_call(self, request: "Request") -> "Response":
        from orchestrator.extensions.http_api.node_endpoint import answer_node_call

        return await answer_node_call(self.daemon, request)

    def place_control_methods(
        self, methods: Mapping[str, RequestHandler], by: str
    ) -> Mapping[str, RequestHandler]:
        return self._nodes.place_methods(methods, by)

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {API_REFRESH: self._reread_token}

    async def _reread_token(self, _: JsonValue) -> protocol.Ack:
        self._service.wake()
        return protocol.Ack()

    async def _wait_for_ports(self) -> None:
        await self._ports_changed.changed.wait()


def _list_ports(file: AgentsFile) -> list[tuple[str, int | None, bool]]:
    return [(agent.agent_id, agent.port, agent.enabled) for agent in file.agents]
