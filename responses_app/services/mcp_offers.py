"""Brings what the MCP servers of a request offer from the web tier to its turn, credentials included. Asks no server.

Credentials are in no row: they wait, sealed, beside the order, are taken once and expire.
"""

import asyncio
from concurrent.futures import Future
from contextlib import suppress

from mirobody_site.tenancy.connections import in_thread
from mirobody_site.tenancy.errors import ServerError
from responses_app.mcp.loop import started
from responses_app.mcp.servers import NOTHING_OFFERED, McpOffer, offer_from_json
from responses_app.protocol.mcp_entry import McpEntry
from responses_app.protocol.request import ResponseRequest
from responses_app.services.lifetimes import turn_lifetime
from responses_app.services.sealing import seal, unseal
from responses_app.services.turn_order import TurnOrder
from responses_app.services.turn_tools import server_tools_off
from responses_app.streaming.backends import request_slots

_PURPOSE = "mcp"


def needs_offer(request: ResponseRequest) -> bool:
    """Whether MCP servers have to be asked for their tools before the request's turn can begin."""
    return bool(request.mcp_entries) and not server_tools_off(request)


async def offered(request: ResponseRequest) -> McpOffer:
    """What the request's servers offer. Raises InvalidRequestError for one that cannot be used."""
    return await asyncio.wrap_future(await in_thread(_asked, request))


def hold(order: TurnOrder, offer: McpOffer) -> None:
    """Keeps the offer for the order's turn. Raises ServerError."""
    if offer.servers:
        sealed = seal(order.account_id, offer.to_json(), _PURPOSE)
        request_slots().put(_key(order), sealed.encode(), turn_lifetime())


def taken(order: TurnOrder) -> McpOffer:
    """The offer that was kept for the order's turn, which is gone afterwards.

    Raises ServerError when it was lost: no server is asked without its credentials.
    """
    if not needs_offer(order.request):
        return NOTHING_OFFERED
    held = request_slots().take(_key(order))
    text = unseal(order.account_id, held.decode(), _PURPOSE) if held is not None else None
    if text is None:
        raise ServerError("What the MCP servers need was lost before the turn began; send the request again.")
    return offer_from_json(text)


def forget(order: TurnOrder) -> None:
    """For a turn that never begins."""
    if order.request.mcp_entries:
        # Out of reach it goes by itself.
        with suppress(ServerError):
            request_slots().take(_key(order))


def _asked(request: ResponseRequest) -> "Future[McpOffer]":
    from responses_app.mcp.listing import offer  # noqa: PLC0415 - the MCP client takes a second and 40 MB to load

    entries = [(index, tool) for index, tool in enumerate(request.tools) if isinstance(tool, McpEntry)]
    return started(offer(entries, [tool.name for tool in request.function_tools]))


def _key(order: TurnOrder) -> str:
    return f"{order.response_id}:mcp"
