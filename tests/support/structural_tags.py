"""Structural tags in each of their forms, as requests have them."""

from __future__ import annotations

from tests.support.chat_asking import NUMBER

LEGACY_TAG = {
    "type": "structural_tag",
    "structures": [{"begin": "<f=a>", "schema": NUMBER, "end": "</f>"}],
    "triggers": ["<f="],
}
SEQUENCE_TAG = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": "<t>", "content": {"type": "any_text"}, "end": "</t>"},
            {
                "type": "or",
                "elements": [
                    {"type": "const_string", "value": "yes"},
                    {"type": "regex", "pattern": "[0-9]{2}"},
                ],
            },
            {
                "type": "tags_with_separator",
                "tags": [
                    {
                        "type": "tag",
                        "begin": "[",
                        "content": {"type": "json_schema", "json_schema": {"type": "boolean"}},
                        "end": "]",
                    }
                ],
                "separator": ";",
            },
        ],
    },
}
TRIGGERED_TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f"],
        "tags": [
            {"begin": "<f1>", "content": {"type": "const_string", "value": "x"}, "end": "</f1>"},
            {"begin": "<f2>", "content": {"type": "any_text"}, "end": "</f2>"},
        ],
        "stop_after_first": True,
    },
}
