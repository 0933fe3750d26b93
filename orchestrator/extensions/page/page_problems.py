"""What went wrong with a request, as a page that says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import htpy as h
from starlette.responses import HTMLResponse, Response

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.page.daemon_side.page_protocol import NOT_PERMITTED
from orchestrator.extensions.page.html.layout import render_bare_page
from orchestrator.extensions.page.html.outside_text import strip_terminal_codes
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.peer import PeerClosedError, RpcError

UNKNOWN = "The daemon did not answer, so this may or may not have been done. Reload and check."


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors of the daemon and the journal into a page that explains them."""
    try:
        yield
    except ApiProblem:
        raise
    except (RpcError, OrchestratorError) as error:
        refused = isinstance(error, RpcError) and error.code == NOT_PERMITTED
        status = HTTPStatus.FORBIDDEN if refused else HTTPStatus.CONFLICT
        raise ApiProblem(status, str(error)) from error
    except (PeerClosedError, TimeoutError) as error:
        raise ApiProblem(HTTPStatus.GATEWAY_TIMEOUT, UNKNOWN) from error


def refuse_stale_form() -> Response:
    """Return the answer to a form that no page of the session made."""
    text = "This form belongs to another login, or was not made by this page. Open it again."
    return HTMLResponse(str(render_bare_page("Not done", h.p[text], h.a(href="/")["Go on"])), 403)


def render_problem(problem: ApiProblem) -> Response:
    """Return the page of a problem."""
    back = h.p[h.a(href="/")["Go on"]]
    told = strip_terminal_codes(str(problem))
    content = render_bare_page("Not done", h.p(class_="problem", role="alert")[told], back)
    return HTMLResponse(str(content), problem.status, problem.build_headers())
