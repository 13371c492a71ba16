"""Chat templates: those of real models where a package with them is installed, and some of ours."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

MISTRAL_TEMPLATE = """\
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}
{%- set messages = messages[1:] %}{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}
{%- if tools and loop.first %}{{ '[AVAILABLE_TOOLS] ' + (tools | tojson) }}
{{- '[/AVAILABLE_TOOLS]' }}{% endif %}
{{- '[INST] ' + (system + '\\n\\n' if loop.first and system else '') + message.content }}
{{- '[/INST]' }}
{%- elif message.role == 'tool' %}
{%- if message.tool_call_id | length != 9 %}{{ raise_exception('9 characters') }}{% endif %}
{{- '[TOOL_RESULTS] {"content": ' + message.content + ', "call_id": "' }}
{{- message.tool_call_id + '"}[/TOOL_RESULTS]' }}
{%- elif message.tool_calls %}
{{- '[TOOL_CALLS] [' }}
{%- for call in message.tool_calls %}
{%- if call.id | length != 9 %}{{ raise_exception('ids have 9 characters') }}{% endif %}
{{- (call.function | tojson)[:-1] + ', "id": "' + call.id + '"}' }}
{{- '' if loop.last else ', ' }}
{%- endfor %}{{ ']</s>' }}
{%- elif message.role == 'assistant' %}{{ ' ' + message.content + '</s>' }}
{%- else %}{{ raise_exception('only one system message, and it comes first') }}
{%- endif %}
{%- endfor %}"""
"""As Mistral's v3: calls in an array, ids of nine characters, one system message."""

MISTRAL_ARGS_TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == 'system' %}{{ '[SYSTEM_PROMPT]' + message.content + '[/SYSTEM_PROMPT]' }}
{%- elif message.role == 'user' %}{{ '[INST]' + message.content + '[/INST]' }}
{%- elif message.role == 'tool' %}{{ '[TOOL_RESULTS]' + message.content + '[/TOOL_RESULTS]' }}
{%- else %}
{%- if message.reasoning_content %}
{{- '[THINK]' + message.reasoning_content + '[/THINK]' }}{% endif %}
{{- message.content }}
{%- for call in message.tool_calls or [] %}
{{- '[TOOL_CALLS]' + call.function.name + '[ARGS]' + (call.function.arguments | tojson) }}
{%- endfor %}{{ '</s>' }}
{%- endif %}
{%- endfor %}
{%- if tools %}{{ '[AVAILABLE_TOOLS]' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}{% endif %}"""
"""As Mistral's v11 and later, with thoughts."""

DEEPSEEK_V31_TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == 'system' %}{{ message.content }}
{%- elif message.role == 'user' %}{{ '<\uff5cUser\uff5c>' + message.content }}
{%- elif message.role == 'tool' %}
{{- '<\uff5ctool\u2581output\u2581begin\uff5c>' + message.content }}
{{- '<\uff5ctool\u2581output\u2581end\uff5c>' }}
{%- else %}{{ '<\uff5cAssistant\uff5c></think>' + message.content }}
{%- if message.tool_calls %}{{ '<\uff5ctool\u2581calls\u2581begin\uff5c>' }}
{%- for call in message.tool_calls %}
{{- '<\uff5ctool\u2581call\u2581begin\uff5c>' + call.function.name }}
{{- '<\uff5ctool\u2581sep\uff5c>' }}
{{- call.function.arguments + '<\uff5ctool\u2581call\u2581end\uff5c>' }}
{%- endfor %}{{ '<\uff5ctool\u2581calls\u2581end\uff5c>' }}{% endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<\uff5cAssistant\uff5c>' + ('<think>' if thinking else '</think>') }}
{%- endif %}"""
"""As DeepSeek V3.1's: arguments as text, no tools, thinking by a switch."""


def real_template(name: str) -> str:
    """The text of a model's own template; skips the test where it is not installed."""
    spec = find_spec("trl")
    if spec is None or spec.origin is None:
        pytest.skip("pip install --no-deps -r requirements/templates.txt")
    return (Path(spec.origin).parent / "chat_templates" / f"{name}.jinja").read_text()
