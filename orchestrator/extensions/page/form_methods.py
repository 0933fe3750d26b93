"""The methods that forms of the page can call, with their fields."""

from base64 import b64encode
from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ValidationError

from orchestrator.control import protocol
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.page.daemon_side import page_protocol


class ShownDecision(protocol.ApprovalDecision):
    """A decision about exactly the shown arguments."""

    args_hash: str


FIELDS: Mapping[str, type[BaseModel] | None] = {
    page_protocol.WEB_SEND: page_protocol.WebSend,
    protocol.APPROVAL_DECIDE: ShownDecision,
    protocol.PAIR_APPROVE: protocol.PairCode,
    protocol.PAIR_REVOKE: protocol.PairedChat,
    protocol.TOOL_APPROVE: protocol.ToolName,
    page_protocol.CALL_SETTLE: page_protocol.SettledCall,
    protocol.DLQ_RETRY: protocol.RowId,
    protocol.DLQ_DROP: protocol.RowId,
    protocol.AGENT_PAUSE: protocol.AgentName,
    protocol.AGENT_RESUME: protocol.AgentName,
    protocol.RELOAD: None,
    protocol.TASK_RUN: protocol.RowId,
    protocol.TASK_ENABLE: protocol.RowId,
    protocol.TASK_DISABLE: protocol.RowId,
}


class BadFormError(OrchestratorError):
    """A form without the fields of its method, or for an unknown method."""


def parse_params(
    method: str, form: Mapping[str, str], files: Iterable[tuple[str, bytes]] = ()
) -> BaseModel | None:
    """Return a method's parameters from a form, ignoring other fields.

    ``files`` are the form's files with their names.

    Raises:
        BadFormError: the method is unknown, or a field is missing or invalid.
    """
    if method not in FIELDS:
        raise BadFormError(f"this page has no form for {method!r}; reload it")
    model = FIELDS[method]
    try:
        sent = [{"name": name, "data": b64encode(data)} for name, data in files]
        return None if model is None else model.model_validate({**form, "files": sent})
    except ValidationError as error:
        fields = ", ".join(str(detail["loc"][0]) for detail in error.errors() if detail["loc"])
        raise BadFormError(f"the form has no valid value for {fields}; reload the page") from error
