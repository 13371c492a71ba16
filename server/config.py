"""ServerConfig: every setting of the HTTP server, frozen and checked once."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final, TypeAlias, get_args
from typing import Literal as OneOf

from grammars.spec import PropertyOrder

_ORIGIN: Final = re.compile(r"\*|https?://[^/?#\s]+")

_MAX_INT_DIGITS: Final = 4300
"""What `int` reads by default: its time grows with the square of the digits."""

_MAX_JSON_DEPTH: Final = 256
"""Walks of a body are recursive, with a few frames of Python's 1,000 a level."""

SchemaPolicy: TypeAlias = OneOf["exact", "openai"]

ReasoningField: TypeAlias = OneOf["reasoning_content", "reasoning", "both"]

ToolFormatName: TypeAlias = OneOf[
    "auto",
    "hermes",
    "qwen3_coder",
    "mistral",
    "mistral_args",
    "deepseek_v3",
    "deepseek_v31",
    "llama3_json",
    "json_block",
    "json",
]
"""How the model writes calls: as its chat template shows, or by name (docs/tool_formats.md)."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How the server listens, whom it answers and how much it takes.

    Args:
        host: address to listen on.
        port: TCP port; 0 picks a free one.
        served_names: names that requests may use for the model; answers have the first. Without
            any: the model's own name.
        accept_any_model: answer requests for every model name (for clients that hard-code one).
        model_alias: another name for the model, as `gpt-4o=NAME` or `claude-*=NAME`; NAME is a
            served name, and `*` stands for any characters.
        tls_cert_file: PEM file with the certificate and its chain; turns on HTTPS, together with
            tls_key_file.
        tls_key_file: PEM file with the certificate's private key, without a passphrase.
        cors_origins: an origin whose web pages may call the server, as `https://app.example`;
            `*`: all. Without any, browsers block such calls.
        api_key_hashes: SHA-256 digests of the accepted keys (see `hash_api_key`); empty: no key is
            needed. Keys themselves are not kept.
        tool_format: how the model writes tool calls; auto: as in its chat template.
        schema_policy: which schemas are taken with `strict: true`. exact: all that can be enforced;
            openai: of these, only what OpenAI's own API takes, to try a program before it asks it.
        property_order: the order of keys in JSON, where a request does not say. schema: that of the
            schema; any: any order, each key at most once.
        reasoning_field: what thoughts are called in chat answers: reasoning_content, reasoning, or
            both, which some clients show twice.
        grammar_backend: the grammar compiler: tightrope, or to compare with it xgrammar,
            llguidance, outlines.
        grammar_cache_bytes: memory for compiled grammars; it is an estimate, which the process
            may exceed by about half.
        max_concurrent_compiles: grammars compiled at the same time; others wait.
        warm_actions: actions of each compiled grammar that are built in advance, while the prompt
            is processed and no grammar compiles; about 0.3 ms each; 0 is off.
        strict_params: refuse unknown request fields instead of naming them in a header.
        max_body_bytes: bytes of a request body, counted as they arrive.
        max_total_body_bytes: bytes of the bodies of all requests being answered; beyond it a 429.
        max_body_chunks: chunks of a request body without a length.
        max_header_bytes: bytes of the request line and all headers.
        header_timeout_s: seconds until a request's headers must have arrived.
        body_timeout_s: seconds until a request's body must have arrived.
        send_timeout_s: seconds after which a client that accepts no more of its answer is
            disconnected (on Linux).
        queue_timeout_s: seconds from a request's arrival in the queue to its first output;
            beyond that it gets a 429.
        generation_timeout_s: seconds that one request may spend in queue and engine, from when its
            constraint is compiled.
        keep_alive_s: seconds of silence in a stream after which a comment is sent, to keep the
            connection open.
        drain_timeout_s: seconds that running requests have to finish after a stop signal.
        response_store_bytes: memory for stored responses (`store`, `previous_response_id`).
        max_json_depth: nesting of arrays and objects in a body, 256 at most: they are walked by
            recursive functions, which stay far from the interpreter's limit so.
        max_json_values: values in a body, arrays and objects counted twice.
        max_number_chars: characters of a number in a body.
        max_messages: messages of a chat.
        max_tools: tools of a request.
        max_template_steps: work of the model's chat template for one prompt, in parts of it that
            are run; ordinary chats take some 500 a message.
        max_template_chars: characters of all texts that it makes for one prompt.
        max_stop_strings: stop strings of a request.
        max_stop_string_chars: characters of one stop string.
        max_stop_token_ids: ids in `stop_token_ids`.
        max_logit_bias: entries of `logit_bias`.
        max_n: choices of one request.
        max_completions: texts of one request to /v1/completions, over all its prompts.
        max_short_text_chars: characters of fields such as `user`, which the model never sees.
        max_schema_chars: characters of the JSON Schema of the answer, of all schemas in a
            structural tag together, and of the schemas of all tools together.
        max_choices: options of a `choice` constraint.
        max_tags: tags, triggers and elements of a structural tag, in all of its lists together.
        max_waiting_requests: requests that may wait in the engine; beyond that they get a 429.
        max_requests_per_key: concurrent requests per API key; beyond that they get a 429. Does not
            apply without keys.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    served_names: tuple[str, ...] = ()
    accept_any_model: bool = False
    model_alias: tuple[str, ...] = ()
    tls_cert_file: str | None = None
    tls_key_file: str | None = None
    cors_origins: tuple[str, ...] = ()
    api_key_hashes: tuple[bytes, ...] = ()
    tool_format: ToolFormatName = "auto"
    schema_policy: SchemaPolicy = "exact"
    property_order: PropertyOrder = "schema"
    reasoning_field: ReasoningField = "reasoning_content"
    grammar_backend: str = "tightrope"
    grammar_cache_bytes: int = 128 * 2**20
    max_concurrent_compiles: int = 2
    warm_actions: int = 300
    strict_params: bool = False
    max_body_bytes: int = 10 * 2**20
    max_total_body_bytes: int = 256 * 2**20
    max_body_chunks: int = 10_000
    max_header_bytes: int = 64 * 2**10
    header_timeout_s: float = 30.0
    body_timeout_s: float = 60.0
    send_timeout_s: float = 60.0
    queue_timeout_s: float = 120.0
    generation_timeout_s: float = 600.0
    keep_alive_s: float = 15.0
    drain_timeout_s: float = 30.0
    response_store_bytes: int = 64 * 2**20
    max_json_depth: int = 128
    max_json_values: int = 200_000
    max_number_chars: int = 1_000
    max_messages: int = 10_000
    max_tools: int = 256
    max_template_steps: int = 10_000_000
    max_template_chars: int = 128 * 2**20
    max_stop_strings: int = 16
    max_stop_string_chars: int = 1_024
    max_stop_token_ids: int = 64
    max_logit_bias: int = 1_024
    max_n: int = 16
    max_completions: int = 128
    max_short_text_chars: int = 4_096
    max_schema_chars: int = 4 * 2**20
    max_choices: int = 100_000
    max_tags: int = 1_024
    max_waiting_requests: int = 512
    max_requests_per_key: int = 256

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise ValueError(f"port: {self.port} is not in 0..65535")
        for name, kind in (
            ("tool_format", ToolFormatName),
            ("schema_policy", SchemaPolicy),
            ("property_order", PropertyOrder),
            ("reasoning_field", ReasoningField),
        ):
            given, known = getattr(self, name), get_args(kind)
            if given not in known:
                raise ValueError(f"{name}: {given!r} is unknown; use one of {', '.join(known)}")
        for alias in self.model_alias:
            name, _, target = alias.partition("=")
            if not name or not target:
                raise ValueError(f"model_alias: {alias!r} is no alias; write ALIAS=NAME")
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError("tls_cert_file and tls_key_file: give both or neither")
        for origin in self.cors_origins:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"cors_origins: {origin!r} is not an origin; write scheme and host, as "
                    "https://app.example, or *"
                )
        if self.warm_actions < 0:
            raise ValueError(f"warm_actions: {self.warm_actions} is negative; 0 is off")
        if self.max_number_chars > _MAX_INT_DIGITS:
            raise ValueError(f"max_number_chars: at most {_MAX_INT_DIGITS} can be read")
        if self.max_json_depth > _MAX_JSON_DEPTH:
            raise ValueError(f"max_json_depth: at most {_MAX_JSON_DEPTH} can be walked")
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            is_limit = name.startswith("max_") or name.endswith(("_bytes", "_s"))
            if is_limit and value <= 0:
                raise ValueError(f"{name}: {value} is not positive")


def hash_api_key(key: str) -> bytes:
    """The SHA-256 digest under which a key is kept and compared.

    Raises:
        ValueError: the key is empty.
    """
    if not key.strip():
        raise ValueError("an empty key is not allowed")
    return hashlib.sha256(key.strip().encode()).digest()


def hash_api_keys(lines: str) -> tuple[bytes, ...]:
    """Digests of the keys in a key file: one a line; empty lines and `#` comments are skipped."""
    keys = (line.strip() for line in lines.splitlines())
    return tuple(hash_api_key(key) for key in keys if key and not key.startswith("#"))
