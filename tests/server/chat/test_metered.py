"""A chat template is rendered as transformers renders it, but never without end."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jinja2
import pytest
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from server.chat.metered.budget import RenderLimitError, RenderLimits
from server.chat.metered.environment import MAX_SOURCE_CHARS, MeteredTemplate
from server.chat.template import ChatTemplate
from server.config import ServerConfig
from tests.support.chat_server import (
    PLAIN_TEMPLATE,
    make_services,
    running,
    tokenizer_json,
)
from tests.support.fresh_http import HTTP
from tests.support.templates import DEEPSEEK_V31_TEMPLATE, MISTRAL_ARGS_TEMPLATE, MISTRAL_TEMPLATE

USUAL = RenderLimits.of(ServerConfig())
SMALL = RenderLimits(max_template_steps=100_000, max_template_chars=1_000_000)


def rendered(source: str, limits: RenderLimits = SMALL, **variables: Any) -> str:
    return MeteredTemplate(source, limits).render(variables)


def tokenizer_with(source: str) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer_json()),
        chat_template=source,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
    )


LOOP = "{% for i in range(100000) %}"
END = "{% endfor %}"
DOUBLED = (
    "{% set n = namespace(x=START) %}{% for i in range(60) %}{% set n.x = GROWN %}{% endfor %}"
)


def doubled(start: str, grown: str) -> str:
    return DOUBLED.replace("START", start).replace("GROWN", grown)


ENDLESS = {
    "loops in loops": LOOP * 4 + END * 4,
    "a loop that keeps nothing": LOOP + "{% for j in range(100000) if false %}{% endfor %}" + END,
    "a loop over a text": "{% for c in text %}{% for d in text %}{% endfor %}{% endfor %}",
    "macros that call themselves twice": (
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(90) }}"
    ),
    "a caller that is called": (
        "{% macro m() %}" + LOOP + "{{ caller() }}" + END + "{% endmacro %}"
        "{% call m() %}" + LOOP + "x" + END + "{% endcall %}"
    ),
    "a loop that calls itself": (
        "{% for x in [1, 1] recursive %}{% if loop.depth < 50 %}{{ loop([1, 1]) }}{% endif %}"
        "{% endfor %}"
    ),
    "literal text many times": LOOP + "x" * 1_000 + END,
    "a text many times in a macro": "{% macro m() %}" + LOOP + "{{ text }}" + END + "{% endmacro %}"
    "{{ m() | length }}",
    "a text times a number": "{{ ('a' * 10 ** 9) | length }}",
    "a list times a number": "{{ ([1] * 10 ** 9) | length }}",
    "a number times a text": "{{ (10 ** 9 * 'a') | length }}",
    "a text that is doubled": doubled("'a'", "n.x + n.x") + "{{ n.x | length }}",
    "a text that is doubled by ~": doubled("'a'", "n.x ~ n.x") + "{{ n.x | length }}",
    "a text that is doubled by set": (
        "{% set n = namespace(x='a') %}{% for i in range(60) %}"
        "{% set y %}{{ n.x }}{{ n.x }}{% endset %}{% set n.x = y %}{% endfor %}"
    ),
    "a text that is doubled by a format": doubled("'a'", "'%s%s' % (n.x, n.x)"),
    "a text that is doubled by its own format": doubled("'a'", "'{0}{0}'.format(n.x)"),
    "a text that is doubled by a filter": doubled("'a'", "'%s%s' | format(n.x, n.x)"),
    "a text that is doubled by replace": doubled("'aa'", "n.x | replace('a', 'aa')"),
    "a text that is doubled by a method": doubled("'aa'", "n.x.replace('a', 'aa')"),
    "a text that is joined": doubled("'aa'", "[n.x, n.x] | join(n.x)"),
    "a text that is joined by a method": doubled("'aa'", "n.x.join([n.x, n.x])"),
    "a text that is indented": "{{ ('a\\n' * 1000) | indent(10 ** 7) | length }}",
    "a list that is doubled": doubled("[1]", "n.x + n.x") + "{{ n.x | length }}",
    "a list of itself that is printed": doubled("[1]", "[n.x, n.x]") + "{{ n.x }}",
    "a list of itself as JSON": doubled("[1]", "[n.x, n.x]") + "{{ n.x | tojson | length }}",
    "a list of itself as a text": doubled("[1]", "[n.x, n.x]") + "{{ n.x | string | length }}",
    "a list of itself that is joined": doubled("[1]", "[n.x, n.x]") + "{{ n.x | join | length }}",
    "a list of itself that is compared": (
        doubled("[1]", "[n.x, n.x]")
        + "{% set m = n.x %}"
        + doubled("[1]", "[n.x, n.x]")
        + "{{ m == n.x }}"
    ),
    "a list of itself that is sought": doubled("[1]", "[n.x, n.x]") + "{{ [n.x].index(n.x) }}",
    "a list of itself that is sorted": doubled("[1]", "[n.x, n.x]") + "{{ [n.x] | sort | first }}",
    "a list of itself that is tested": (
        doubled("[1]", "[n.x, n.x]") + "{{ [n.x] | select('equalto', n.x) | list | length }}"
    ),
    "a list of itself that has changed": (
        doubled("[1]", "[n.x, n.x]") + "{% for i in [1] %}{{ loop.changed(n.x) }}{% endfor %}"
    ),
    "a tuple of itself as a key": doubled("(1, 1)", "(n.x, n.x)") + "{{ {}.get(n.x) }}",
    "a tuple of itself as a place": doubled("(1, 1)", "(n.x, n.x)") + "{{ {}[n.x] }}",
    "a tuple of itself as a literal's key": doubled("(1, 1)", "(n.x, n.x)") + "{{ {n.x: 1} }}",
    "slices": LOOP + "{% set x = text[1:] %}" + END,
    "a search from the end": LOOP + "{{ text.rfind('b' + text[1:]) }}" + END,
    "a strip of many characters": LOOP + "{{ text.strip('b' + text) }}" + END,
    "a trim of many characters": LOOP + "{{ text | trim('b' + text) }}" + END,
    "a split into letters": LOOP + "{% set x = text | list %}" + END,
    "a split at every letter": LOOP + "{% set x = text.split('a') %}" + END,
    "a chain of filters": "{% set x = range(100000) | map('string') | map('upper') | list %}",
    "a macro that grows": (
        "{% macro m(x, n) %}{% if n %}{{ m([x, x], n - 1) }}{% endif %}{{ x }}{% endmacro %}"
        "{{ m([1], 60) }}"
    ),
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_would_not_end_is_ended_by_name(source):
    with pytest.raises(RenderLimitError) as caught:
        rendered(source, text="a" * 5_000)
    assert str(caught.value) == (
        f"the model's chat template takes more than {caught.value.limit}={caught.value.allowed}; "
        "shorten the messages, or use a model whose template does end"
    )
    assert caught.value.limit in ("max_template_steps", "max_template_chars")


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_would_not_end_is_told_when_the_model_is_loaded(source):
    source = "{% set text = 'a' * 5000 %}" + source
    with pytest.raises(ValueError, match="its chat template does not end: the model's chat templ"):
        ChatTemplate(tokenizer_with(source), SMALL)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ '%1000000000d' % 1 }}", "its format '%1000000000d' has widths above 999"),
        ("{{ '%*d' % (10 ** 9, 1) }}", "has widths above 999"),
        ("{{ '{:1000000000}'.format('a') }}", "has widths above 999"),
        ("{{ '{:{}}'.format('a', 10 ** 9) }}", "has widths above 999"),
        ("{{ '%1000000000d' | format(1) }}", "has widths above 999"),
        ("{{ 10 ** (10 ** 9) }}", "its numbers have more than 4096 bits"),
        ("{{ 2 ** 3000 * 2 ** 3000 }}", "its numbers have more than 4096 bits"),
        ("{{ ('f' * 10000) | int(0, 16) // 3 }}", "its numbers have more than 4096 bits"),
        (doubled("1", "n.x + n.x").replace("60", "5000"), "its numbers have more than 4096 bits"),
        ("{{ '%(a%b)1000000000d' % {'a%b': 1} }}", "has widths above 999"),
        ("{{ 5 | round(-10 ** 9) }}", "round takes at most 100 digits"),
        ("{{ [1] | tojson(indent=10 ** 9) }}", "tojson separates by at most 999 characters"),
        ("{{ 'a'.center(10 ** 9) }}", "access to attribute 'center' of 'str' object is unsafe"),
        ("{{ 'a'.ljust(10 ** 9) }}", "access to attribute 'ljust'"),
        ("{{ 'a'.zfill(10 ** 9) }}", "access to attribute 'zfill'"),
        ("{{ '\\t'.expandtabs(10 ** 9) }}", "access to attribute 'expandtabs'"),
        ("{{ 'a'.encode() }}", "access to attribute 'encode'"),
        ("{{ (5).to_bytes(10 ** 9) }}", "access to attribute 'to_bytes'"),
        ("{{ {'a': 1}.pop('a') }}", "access to attribute 'pop'"),
        ("{{ ''.__class__.mro() }}", "access to attribute '__class__'"),
    ],
)
def test_what_makes_much_of_little_is_refused_by_name(source, reason):
    with pytest.raises(jinja2.TemplateError) as caught:
        rendered(source)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{% block a %}{% endblock %}", "its chat template has a statement 'Block'"),
        ("{% include 'a' %}", "its chat template has a statement 'Include'"),
        ("{% import 'a' as b %}", "its chat template has a statement 'Import'"),
        ("{% extends 'a' %}", "its chat template has a statement 'Extends'"),
        ("{{ 'a' | center(9) }}", "its chat template is malformed: No filter named 'center'."),
        ("{{ 'a' | urlize }}", "its chat template is malformed: No filter named 'urlize'."),
        ("{{ 1", "its chat template is malformed: unexpected end of template"),
        ("{% for a in b %}" * 30 + END * 30, "its chat template is nested too deeply: "),
        ("{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}", "its chat template is nested too deep"),
        (
            " " * (MAX_SOURCE_CHARS + 1),
            f"its chat template has {MAX_SOURCE_CHARS + 1} characters, at most {MAX_SOURCE_CHARS} "
            "are compiled",
        ),
    ],
)
def test_what_is_no_chat_template_is_refused_by_name(source, reason):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the message is compared
        MeteredTemplate(source, SMALL)
    assert str(caught.value).startswith(reason)


CHATS: dict[str, list[dict[str, Any]]] = {
    "a question": [{"role": "user", "content": "hi  "}],
    "turns": [
        {"role": "system", "content": "Be <brief>."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "<think>a</think>yo"},
        {"role": "user", "content": "x"},
    ],
    "calls": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "call00001",
                    "type": "function",
                    "function": {"name": "f", "arguments": {"a": "é", "b": [1, 2.5], "c": None}},
                }
            ],
        },
        {"role": "tool", "content": "r", "tool_call_id": "call00001", "name": "f"},
        {"role": "assistant", "content": "done", "reasoning_content": "hm"},
        {"role": "user", "content": "y"},
    ],
}
ITEMS = {"type": "array", "items": {"type": "integer"}, "enum": [[1], [2]]}
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "string", "description": "<x> é"}, "b": ITEMS},
    "required": ["a"],
}
TOOLS: Any = [
    {"type": "function", "function": {"name": name, "description": "é", "parameters": PARAMETERS}}
    for name in ("f", "g")
]
SAMPLE = """\
{% macro shown(x, sep=', ') %}{{ x | join(sep) }}{% if caller %}({{ caller(1) }}){% endif %}\
{% endmacro %}
{%- set ns = namespace(n=0, t='') %}
{%- for m in messages if m.role != 'system' recursive %}
{%- if loop.index > 3 %}{% break %}{% endif %}
{%- set ns.n = ns.n + 2 ** 3 % 5 %}{% set ns.t = ns.t ~ loop.index0 ~ m.role[:-1] %}
{{- loop.cycle('a', 'b') }}{{ loop.length }}{{ m.content | trim | upper | replace('I', 'J') }}
{%- endfor %}
{%- call(n) shown([1, 'b', none], sep='-') %}<{{ n }}
&{{ '<' ~ ('&' | safe) ~ 'é' | e }}>{% endcall %}
{{ ns.t }} {{ ns }} {{ [1, (2, 'x')] }} {{ '2024 %s-%03d' % ('a', 5) }}
{{ '0x1f' | int(0, 16) }} {{ '{}{b}'.format(1, b=[2]) }}
{{ {'a': [1, {'b': 'é<'}]} | tojson }} {{ [1, [2]] | tojson(indent=2) }}
{{ dict(a=1, b=2) | dictsort }} {{ {'b': 1}.items() | list }}
{{ [3, 1, 2] | sort | reverse | list }}
{{ messages | map(attribute='role') | unique | list }} {{ range(3) | sum_or_list }}
{{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ -1.55 | round(1) }}
{% generation %}{% set q = 1 %}in{% endgeneration %} {{ q is defined }} {{ undefined.x is defined }}
{% filter upper %}abc{% endfilter %}{% with w = 3 %}{{ w }}{% endwith %} {{ 'a,b'.split(',')[1] }}
{{ 'abcabc'.rsplit('b', 1) }} {{ 'a b  c'.split() }} {{ ('a' * 3)[::-1] }} {{ 'a\\nb' | indent(2) }}
{{ bos_token }}{{ eos_token }}{{ nothing }}{{ strftime_now('%%') }}""".replace(
    "sum_or_list", "list"
)


def templates() -> dict[str, str]:
    """Ours, and those of real models where the package that has them is installed."""
    ours = {
        "plain": PLAIN_TEMPLATE,
        "sample": SAMPLE.replace("undefined.x", "undefined"),
        "mistral": MISTRAL_TEMPLATE,
        "mistral_args": MISTRAL_ARGS_TEMPLATE,
        "deepseek_v31": DEEPSEEK_V31_TEMPLATE,
    }
    spec = find_spec("trl")
    if spec is None or spec.origin is None:
        return ours
    real = (Path(spec.origin).parent / "chat_templates").glob("*.jinja")
    return ours | {path.stem: path.read_text() for path in sorted(real)}


def outcome(render: Any) -> str:
    """The text, or the kind of the error."""
    try:
        return str(render())
    except Exception as error:  # noqa: BLE001  # templates raise anything
        return type(error).__name__.replace("UndefinedError", "TemplateError")


@pytest.mark.parametrize("name", templates())
def test_a_template_writes_what_transformers_has_it_write(name):
    source = templates()[name]
    tokenizer = tokenizer_with(source)
    template = MeteredTemplate(source, USUAL)
    for chat in CHATS.values():
        for tools in (None, TOOLS):
            for adds_head in (True, False):
                by_transformers = outcome(
                    lambda chat=chat, tools=tools, adds_head=adds_head: (
                        tokenizer.apply_chat_template(
                            chat, tools=tools, tokenize=False, add_generation_prompt=adds_head
                        )
                    )
                )
                variables = {
                    **tokenizer.special_tokens_map,
                    "messages": [
                        {"thinking": message["reasoning_content"], **message}
                        if "reasoning_content" in message
                        else message
                        for message in chat
                    ],
                    "tools": tools,
                    "documents": None,
                    "add_generation_prompt": adds_head,
                }
                by_us = outcome(lambda variables=variables: template.render(variables))
                if name == "sample":
                    by_transformers = by_transformers.replace("&lt;Namespace", "<Namespace")
                    start = by_transformers.find("<Namespace")
                    end = by_transformers.find(">", start) + 1
                    by_transformers = (
                        by_transformers[:start] + "<namespace>" + by_transformers[end:]
                    )
                assert by_us == by_transformers


def test_a_request_that_takes_too_much_is_an_error_of_the_server_and_of_nobody_else():
    source = (
        PLAIN_TEMPLATE + "{% if messages[0].content == 'x' %}" + LOOP * 3 + END * 3 + "{% endif %}"
    )
    config = ServerConfig(max_template_steps=1_000_000)
    services = make_services("hello", "hello", template=source, config=config)
    with running(services) as url:

        def ask(content: str) -> Any:
            body = {"model": "tiny", "messages": [{"role": "user", "content": content}]}
            return HTTP.post(f"{url}/v1/chat/completions", json=body, timeout=60)

        assert ask("hi").status_code == 200
        answer = ask("x")
        assert answer.status_code == 500
        assert answer.json()["error"] == {
            "message": "the model's chat template takes more than max_template_steps=1000000; "
            "shorten the messages, or use a model whose template does end",
            "type": "server_error",
            "param": None,
            "code": None,
        }
        assert ask("hi").status_code == 200
