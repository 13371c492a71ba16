"""tightrope: the command line. Every command's own imports wait until it is the one asked for."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.metadata import version
from types import MappingProxyType
from typing import Final

COMMANDS: Final = MappingProxyType(  # name -> (module with main(arguments), what it does)
    {
        "serve": ("server.commands.serve", "serve a model through the OpenAI-compatible API"),
        "models": ("server.commands.models", "list the built-in models and what is cached"),
        "check": ("server.commands.check", "say if a schema or grammar is enforced, or why not"),
        "generate": ("server.commands.generate", "write one constrained answer to the terminal"),
        "bench": ("server.commands.bench", "measure, against other engines where they exist"),
        "eval": ("server.commands.eval", "judge a model's tool calls, constrained and not"),
    }
)

_SLOW_IMPORTS: Final = frozenset({"serve", "generate"})
"""Commands whose own imports take seconds."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: without the program's name; None: those of the process.

    Returns:
        The exit status: 0, 1 for a refusal or failure that the message explains, 130 for Ctrl-C.
        Wrong usage exits with 2.
    """
    parsed = _parser().parse_args(arguments)
    module, _ = COMMANDS[parsed.command]
    if parsed.command in _SLOW_IMPORTS and sys.stderr.isatty():
        sys.stderr.write("Loading PyTorch and transformers\n")
    try:
        status: int = import_module(module).main(parsed.arguments)
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # a file, socket or disk that is not as it should be
        from server.commands.os_errors import explain_os_error

        return _fail(explain_os_error(error))
    except Exception as error:
        if isinstance(error, _explained_errors()):
            return _fail(str(error))
        raise
    return status


def _parser() -> argparse.ArgumentParser:
    commands = "\n".join(f"  {name:10}{summary}" for name, (_, summary) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="tightrope",
        description="Serve a local language model whose answers keep to the given schemas, "
        "grammars and tools.",
        epilog=f"commands:\n{commands}\n\n`tightrope COMMAND --help` shows a command's options.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tightrope {version('tightrope')}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="see below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its options")
    return parser


def _explained_errors() -> tuple[type[Exception], ...]:
    """The rooms' errors, whose text stands alone."""
    from engine.errors import EngineError
    from grammars.errors import GrammarError
    from server.errors import ServerError

    return (EngineError, GrammarError, ServerError)


def _fail(message: str) -> int:
    sys.stderr.write(f"tightrope: {message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
