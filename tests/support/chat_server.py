"""A whole server around a scripted engine: byte tokens, our own templates, real sockets."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import uvicorn
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from grammars.backends.tightrope import TightropeBackend
from server.app import create_app
from server.chat.metered.budget import RenderLimits
from server.chat.prompt import PromptBuilder
from server.chat.template import ChatTemplate
from server.config import ServerConfig
from server.grammar_compiler import GrammarCompiler
from server.metrics import Metrics
from server.services import ServedModel, Services
from server.uvicorn_settings import uvicorn_config
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.scripted_engine import ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.app import Lifespan
    from server.config import ToolFormatName

MODEL = "tiny"
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
CONTROLS = ("<|im_start|>", "<|im_end|>", *TAGS)

PLAIN_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

TOOL_TEMPLATE = """\
{%- if tools %}<|im_start|>system
<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools><|im_end|>
{% endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}{{ '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

THINKING_TEMPLATE = (
    TOOL_TEMPLATE
    + """
{%- if add_generation_prompt and enable_thinking is defined and not enable_thinking %}
{{- '<think>\\n\\n</think>\\n\\n' }}{% endif %}"""
)
"""The model may open a block itself; `enable_thinking: false` closes one in the prompt."""

OPEN_THINKING_TEMPLATE = TOOL_TEMPLATE + "{% if add_generation_prompt %}<think>\n{% endif %}"
"""The prompt opens the block, as DeepSeek-R1's does."""


@dataclass(frozen=True, slots=True)
class ScriptedServices(Services):
    """Services whose engine can be asked what it was asked."""

    engine: ScriptedEngine

    def prompt_texts(self) -> list[str]:
        """What the engine was asked so far, without control tokens."""
        spelled = self.vocabulary.token_bytes
        return [
            b"".join(spelled.get(token_id, b"") for token_id in request.prompt_token_ids).decode()
            for request in self.engine.requests
        ]


def tokenizer_json(controls: tuple[str, ...] = CONTROLS) -> str:
    return byte_vocabulary(controls)._source.decode()


def chat_template(
    source: str, controls: tuple[str, ...] = CONTROLS, config: ServerConfig | None = None
) -> ChatTemplate:
    tokenizer = Tokenizer.from_str(tokenizer_json(controls))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=source)
    return ChatTemplate(fast, RenderLimits.of(config or ServerConfig()))


def prompt_builder(
    source: str,
    controls: tuple[str, ...] = CONTROLS,
    *,
    max_model_len: int = 20_000,
    tool_format: ToolFormatName = "auto",
    config: ServerConfig | None = None,
) -> PromptBuilder:
    return PromptBuilder(
        chat_template(source, controls, config),
        tokenizer_json(controls),
        max_model_len=max_model_len,
        tool_format=tool_format,
    )


def make_services(
    *texts: str | None,
    template: str = TOOL_TEMPLATE,
    controls: tuple[str, ...] = CONTROLS,
    config: ServerConfig | None = None,
    names: tuple[str, ...] = (MODEL,),
    max_model_len: int = 20_000,
    **engine_options: Any,
) -> ScriptedServices:
    """Services whose engine writes `texts`; grammars are compiled by the real compiler."""
    config = config or ServerConfig()
    vocabulary, backend = byte_vocabulary(controls), TightropeBackend()
    return ScriptedServices(
        config=config,
        model=ServedModel(names, 1_700_000_000, max_model_len, "fp_test"),
        prompts=prompt_builder(
            template,
            controls,
            max_model_len=max_model_len,
            tool_format=config.tool_format,
            config=config,
        ),
        vocabulary=vocabulary,
        compiler=GrammarCompiler(
            lambda spec: backend.compile(spec, vocabulary), max_concurrent=1, max_waiting=8
        ),
        engine=ScriptedEngine(vocabulary, list(texts) or ["ok"], **engine_options),
        metrics=Metrics(),
    )


@contextmanager
def running(services: Services, lifespan: Lifespan | None = None) -> Iterator[str]:
    """Serve on a free port of the loopback; gives the base URL."""
    config = uvicorn_config(
        create_app(services, lifespan=lifespan), replace(services.config, port=0)
    )
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None) -> None:
            await super().startup(sockets)
            started.set()

    server = Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)
