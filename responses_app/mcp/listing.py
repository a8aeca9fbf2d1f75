"""Asks the MCP servers of a request which tools they offer, all at once, before its turn begins. Calls none."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from mcp_types import Tool

from mirobody_site.tenancy.errors import InvalidRequestError
from responses_app.mcp.connection import EndlessListing, connected, list_tools, protocol_of
from responses_app.mcp.guarded_http import Exchange, current_exchange
from responses_app.mcp.naming import model_names
from responses_app.mcp.results import safe_description, safe_parameters
from responses_app.mcp.servers import McpOffer, McpServer, OfferedTool, Secrets, server_of
from responses_app.protocol.mcp_entry import McpEntry

MOST_TOOLS = 128
"""How many tools the servers of one request may offer together; providers take no more."""


@dataclass(frozen=True, slots=True)
class _Listed:
    server: McpServer
    tools: list[Tool]


async def offer(entries: Sequence[tuple[int, McpEntry]], taken: Collection[str]) -> McpOffer:
    """The servers with their tools. ``entries`` have their places in ``tools``, ``taken`` are names of the caller's.

    Raises InvalidRequestError for the first server that cannot be used.
    """
    listed: list[_Listed] = []
    for (index, entry), answer in zip(
        entries, await asyncio.gather(*(_listed(*each) for each in entries)), strict=True
    ):
        if isinstance(answer, InvalidRequestError):
            raise answer
        listed.append(answer)
        if sum(len(each.tools) for each in listed) > MOST_TOOLS:
            raise _unusable(
                index, entry, f"with it there are more than {MOST_TOOLS} tools; choose with 'allowed_tools'"
            )
    return McpOffer(tuple(each.server for each in listed), tuple(_named(listed, taken)))


def _named(listed: Sequence[_Listed], taken: Collection[str]) -> list[OfferedTool]:
    pairs = [(each, tool) for each in listed for tool in each.tools]
    names = model_names([(each.server.label, tool.name) for each, tool in pairs], taken)
    return [_offered(name, each.server, tool) for name, (each, tool) in zip(names, pairs, strict=True)]


def _offered(name: str, server: McpServer, tool: Tool) -> OfferedTool:
    secrets = Secrets(server.headers.items())
    description = safe_description(secrets.hidden_in(tool.description or ""))
    return OfferedTool(
        name, server.label, tool.name, description, safe_parameters(secrets.hidden_in(tool.input_schema))
    )


async def _listed(index: int, entry: McpEntry) -> _Listed | InvalidRequestError:
    exchange = Exchange()
    current_exchange.set(exchange)
    server = server_of(entry)
    try:
        async with (
            asyncio.timeout(settings.MCP_LIST_SECONDS),
            connected(server, settings.MCP_LIST_SECONDS) as session,
        ):
            tools = await list_tools(session, MOST_TOOLS, entry.allowed_tools)
            return _Listed(replace(server, protocol=protocol_of(session)), _nameable(server, tools))
    except TimeoutError:
        return _unusable(index, entry, "it did not answer in time")
    except EndlessListing as error:
        return _unusable(index, entry, str(error))
    except Exception:  # noqa: BLE001 - whatever a server brings about makes it unusable, and is told
        return _refused(index, entry, exchange)


def _nameable(server: McpServer, tools: list[Tool]) -> list[Tool]:
    """The tools but those that are named for the credentials: names are told and kept."""
    secrets = Secrets(server.headers.items())
    return [tool for tool in tools if secrets.hidden_in(tool.name) == tool.name]


def _refused(index: int, entry: McpEntry, exchange: Exchange) -> InvalidRequestError:
    """What went wrong, in words of our own: the server's might repeat the credentials."""
    if exchange.refused:
        return InvalidRequestError(
            "mcp server host resolves to a non-public address", param=f"tools[{index}].server_url"
        )
    return _unusable(index, entry, exchange.why_it_failed() or "it does not answer as an MCP server should")


def _unusable(index: int, entry: McpEntry, why: str) -> InvalidRequestError:
    return InvalidRequestError(f"mcp server '{entry.server_label}' unusable: {why}", param=f"tools[{index}]")
