"""The vocabulary of a model folder, from its tokenizer and configs alone."""

from __future__ import annotations

import json

import pytest

from server.commands.vocabulary import load_vocabulary
from server.models.errors import InvalidModelFileError
from tests.support.chat_server import tokenizer_json

ROWS = 512


def folder_with(folder, config, generation=None):
    (folder / "tokenizer.json").write_text(tokenizer_json())
    texts = {"config.json": config, "generation_config.json": generation}
    for name, content in texts.items():
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("config", "generation", "end_token_ids"),
    [
        ({"vocab_size": ROWS, "eos_token_id": 5}, None, {5}),
        ({"vocab_size": ROWS}, {"eos_token_id": [7, 6]}, {6, 7}),
        ({"vocab_size": ROWS, "eos_token_id": 5}, {"eos_token_id": [6]}, {5, 6}),
        ({"text_config": {"vocab_size": ROWS, "eos_token_id": 5}}, {"eos_token_id": None}, {5}),
    ],
)
def test_end_tokens_are_those_of_all_configs(tmp_path, config, generation, end_token_ids):
    vocabulary = load_vocabulary(folder_with(tmp_path, config, generation))
    assert vocabulary.padded_size == ROWS
    assert set(vocabulary.end_token_ids) == end_token_ids


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"eos_token_id": 5}, "config.json: no vocab_size"),
        ({"vocab_size": ROWS}, ": no eos_token_id in its configs"),
        ("{", "config.json: not JSON: Expecting property name"),
        ([], "config.json: not a JSON object"),
    ],
)
def test_a_config_that_does_not_say_what_is_needed_is_refused(tmp_path, config, message):
    with pytest.raises(InvalidModelFileError) as refusal:
        load_vocabulary(folder_with(tmp_path, config))
    assert message in str(refusal.value)
