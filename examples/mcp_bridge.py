"""MCP: the tools of a server over stdio are listed, offered to the model, called and answered.

Start the server (`make serve`), then, with the extra `examples` installed:

    .venv/bin/python -m examples.mcp_bridge "Take two bars of soap."
    .venv/bin/python -m examples.mcp_bridge "What is there?" COMMAND ARGUMENT...

COMMAND starts the MCP server; without it, that is `mcp_server.py` beside this file.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from examples.agent_loop import AgentError, Limits, Tool, connect, run_agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.from_thread import BlockingPortal
    from mcp.types import CallToolResult

OWN_SERVER = [sys.executable, str(Path(__file__).parent / "mcp_server.py")]


@contextmanager
def mcp_tools(command: list[str]) -> Iterator[dict[str, Tool]]:
    """The tools of an MCP server that runs as long as the block does."""
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(parameters)) as client,
    ):
        listed = portal.call(client.list_tools).tools
        yield {
            tool.name: Tool(
                _caller(portal, client, tool.name), tool.description or "", tool.input_schema
            )
            for tool in listed
        }


class ToolError(Exception):
    """What an MCP server says of a call that failed."""


def _caller(portal: BlockingPortal, client: Client, name: str) -> Any:  # noqa: ANN401  # takes what the schema says
    def call(**arguments: object) -> str:
        result = portal.call(client.call_tool, name, arguments)
        if result.is_error:
            raise ToolError(_text(result))
        return _text(result)

    return call


def _text(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


def main() -> None:
    """Answer the question on the command line with the tools of an MCP server."""
    question, *command = sys.argv[1:] or ["How many apples are there?"]
    client, model = connect()
    with mcp_tools(command or OWN_SERVER) as tools:
        print(f"tools: {', '.join(tools)}")
        try:
            print(run_agent(client, model, question, tools, Limits()))
        except AgentError as error:
            print(f"stopped: {error}")


if __name__ == "__main__":
    main()
