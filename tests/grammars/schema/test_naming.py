"""A text in which nothing can be named or referred to is told by a quick look."""

from __future__ import annotations

import pytest

from grammars.schema.resources import may_name


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ('{"type": "object"}', False),
        ('{"$schema": "http://json-schema.org/draft-07/schema#"}', False),
        ('{"required": ["id", "$ref"], "enum": ["$id"]}', False),
        ('{"id":"x"}', True),
        ('{"required": ["id"], "properties": {"id": {}}}', True),
        ('{"$ref"\n :\t"#"}', True),
        ('{"$ref"' + " " * 1_000 + ':"#"}', True),
        ('{"\\u0024ref": "#"}', True),
        ('{"$dynamicAnchor": "a"}', True),
    ],
)
def test_only_keys_name_and_refer(text, may):
    assert may_name(text) is may
