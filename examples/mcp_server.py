"""An MCP server over stdio: a store room. `mcp_bridge.py` starts it and offers its tools."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

Item = Literal["apples", "nails", "soap"]

server = MCPServer("store room", log_level="WARNING")
counts: dict[str, int] = {"apples": 12, "nails": 400, "soap": 3}


@server.tool()
def list_items() -> dict[str, int]:
    """What is in the store room, and how much of it."""
    return counts


@server.tool()
def take_item(item: Item, count: Annotated[int, Field(ge=1, le=1000)]) -> str:
    """Take some of an item out of the store room."""
    if count > counts[item]:
        raise ToolError(f"there are only {counts[item]} {item}")  # the model reads it
    counts[item] -= count
    return f"{count} {item} taken, {counts[item]} are left"


if __name__ == "__main__":
    server.run("stdio")
