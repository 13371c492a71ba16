"""Tool calls as a model writes them, in the form of Hermes."""

from __future__ import annotations

import json


def hermes_call(name: str, **arguments: object) -> str:
    """A call, its arguments as JSON."""
    return spelled_call(name, json.dumps(arguments))


def spelled_call(name: str, arguments: str) -> str:
    """A call whose arguments are this text, whatever it is."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'
