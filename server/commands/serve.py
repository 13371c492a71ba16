"""`tightrope serve`: get the model, then run the server until it is stopped."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args

from rich.console import Console

from engine.config import EngineConfig
from grammars.backends.base import get_backend
from server.commands.flags import add_flags, read_flags
from server.commands.os_errors import explain_os_error
from server.config import ServerConfig, hash_api_key, hash_api_keys
from server.engine_process.settings import EngineProcessConfig
from server.logs import LogFormat, LogSettings, set_up_logging
from server.models.catalog import DEFAULT_MODEL
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model
from server.open_telemetry import load_tracing
from server.serve import run_server

_API_KEY_VARIABLE: Final = "TIGHTROPE_API_KEY"
_LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def main(arguments: list[str]) -> int:
    """Serve until a stop signal.

    Raises:
        ServerError: the model or an option is refused.
        EngineError: the engine refuses the model.
    """
    parser = make_parser()
    parsed = parser.parse_args(arguments)
    set_up_logging(LogSettings(parsed.log_level, parsed.log_format))
    try:
        engine_config = read_flags(EngineConfig, parsed)
        process_config = read_flags(EngineProcessConfig, parsed)
        server_config = read_flags(
            ServerConfig, parsed, api_key_hashes=_api_key_hashes(parsed.api_key_file)
        )
    except ValueError as error:
        parser.error(str(error))
    tracing = load_tracing(os.environ)
    get_backend(server_config.grammar_backend)  # an unknown one is refused before the slow part
    model = resolve_model(parsed.model, progress=TerminalProgress())
    if not server_config.served_names:
        server_config = replace(server_config, served_names=(model.name,))
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    run_server(
        model.path,
        engine_config,
        server_config,
        process_config,
        announce=console.print,
        tracing=tracing,
    )
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The parser of all flags."""
    parser = argparse.ArgumentParser(
        prog="tightrope serve",
        usage="%(prog)s [MODEL] [OPTIONS]",  # of all flags it would hide the message below it
        description="Serve a model through the OpenAI-compatible API.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "model",
        nargs="?",
        default=DEFAULT_MODEL,
        metavar="MODEL",
        help="built-in name, hub id (owner/name[@revision]), local folder or .gguf file "
        f"(default: {DEFAULT_MODEL})",
    )
    parser.add_argument(
        "--api-key-file",
        type=Path,
        metavar="FILE",
        help="file with the accepted API keys, one per line; the variable "
        f"{_API_KEY_VARIABLE} gives a single key (default: no key is needed)",
    )
    parser.add_argument(
        "--log-level", choices=_LOG_LEVELS, default="warning", help="default: %(default)s"
    )
    parser.add_argument(
        "--log-format",
        choices=get_args(LogFormat),
        default="text",
        help="json: one object per line, with the request's id (default: %(default)s)",
    )
    add_flags(parser, ServerConfig, "server", without={"api_key_hashes"})
    add_flags(parser, EngineConfig, "engine")
    add_flags(parser, EngineProcessConfig, "engine process")
    return parser


def _api_key_hashes(key_file: Path | None) -> tuple[bytes, ...]:
    """Digests of the keys from the file and the environment.

    Raises:
        ValueError: the file cannot be read, or it or the variable holds no key.
    """
    hashes: tuple[bytes, ...] = ()
    if key_file is not None:
        try:
            lines = key_file.read_text(encoding="utf-8-sig")  # editors may write a mark in front
        except OSError as error:
            raise ValueError(f"--api-key-file: {explain_os_error(error)}") from error
        except UnicodeDecodeError as error:
            raise ValueError(f"--api-key-file: {key_file} is not UTF-8 text") from error
        hashes += hash_api_keys(lines)
        if not hashes:
            raise ValueError(f"--api-key-file: {key_file} holds no key")
    if (key := os.environ.get(_API_KEY_VARIABLE)) is not None:
        try:
            hashes += (hash_api_key(key),)
        except ValueError as error:
            raise ValueError(f"{_API_KEY_VARIABLE}: {error}") from error
    return hashes
