"""ConstraintLogitsProcessor keeps plain `generate` inside a grammar, whatever the batch."""

from __future__ import annotations

import json

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from grammars.backends.base import get_backend
from grammars.integrations.transformers import ConstraintLogitsProcessor
from grammars.spec import Choice, JsonSchema, Regex
from tests.support.tokenizers import TINY_PADDED_SIZE as PADDED_SIZE
from tests.support.tokenizers import tiny_vocabulary

END_TOKEN_IDS = tiny_vocabulary().end_token_ids
PAD_TOKEN_ID = PADDED_SIZE - 1
SCHEMA = JsonSchema.from_value(
    {
        "type": "object",
        "properties": {
            "kind": {"enum": ["x", "yy", True]},
            "flags": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
        },
        "required": ["kind", "flags"],
        "additionalProperties": False,
    },
    whitespace="compact",
)


@pytest.fixture(scope="module")
def vocabulary():
    return tiny_vocabulary()


@pytest.fixture(scope="module")
def model():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=PADDED_SIZE, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=256,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def generate(model, prompts, compiled, **options):
    """Generated token ids of each row, without padding and end tokens."""
    width = max(map(len, prompts))
    rows = [[PAD_TOKEN_ID] * (width - len(prompt)) + prompt for prompt in prompts]
    input_ids = torch.tensor(rows)
    output = model.generate(
        input_ids,
        attention_mask=(input_ids != PAD_TOKEN_ID).long(),
        max_new_tokens=80,
        eos_token_id=list(END_TOKEN_IDS),
        pad_token_id=PAD_TOKEN_ID,
        logits_processor=[ConstraintLogitsProcessor(compiled)],
        **options,
    )
    unwanted = {PAD_TOKEN_ID, *END_TOKEN_IDS}
    return [[x for x in row if x not in unwanted] for row in output[:, width:].tolist()]


def text_of(token_ids, vocabulary) -> str:
    return b"".join(vocabulary.token_bytes[token_id] for token_id in token_ids).decode()


PROMPTS = [[65, 66], [67, 68, 69, 70, 71], [72], [73, 74, 75]]


@pytest.mark.parametrize(
    "name", ["tightrope", "xgrammar", "llguidance", "outlines", "fsm-reference"]
)
def test_rows_with_prompts_of_any_length_end_in_documents(model, vocabulary, name):
    compiled = get_backend(name).compile(SCHEMA, vocabulary)
    for row in generate(model, PROMPTS, compiled, do_sample=False):
        document = json.loads(text_of(row, vocabulary))
        assert document["kind"] in ("x", "yy", True)
        assert 1 <= len(document["flags"]) <= 3


def test_a_batch_does_not_change_a_row(model, vocabulary):
    compiled = get_backend("tightrope").compile(SCHEMA, vocabulary)
    together = generate(model, PROMPTS, compiled, do_sample=False)
    alone = [generate(model, [prompt], compiled, do_sample=False)[0] for prompt in PROMPTS]
    assert together == alone


def test_sampled_rows_end_at_different_times(model, vocabulary):
    torch.manual_seed(1)
    compiled = get_backend("tightrope").compile(Regex(r"a{1,40}"), vocabulary)
    rows = generate(model, [[65]] * 6, compiled, do_sample=True, temperature=3.0)
    texts = [text_of(row, vocabulary) for row in rows]
    assert all(set(text) == {"a"} for text in texts)
    assert len({len(text) for text in texts}) > 1


def test_beam_search_follows_its_beams(model, vocabulary):
    compiled = get_backend("tightrope").compile(SCHEMA, vocabulary)
    for row in generate(model, PROMPTS[:2], compiled, num_beams=3, do_sample=False):
        assert set(json.loads(text_of(row, vocabulary))) == {"kind", "flags"}


@pytest.fixture
def processor(vocabulary):
    return ConstraintLogitsProcessor(
        get_backend("tightrope").compile(Choice(("ab", "é")), vocabulary)
    )


SCORES = torch.zeros(1, PADDED_SIZE)


def test_only_allowed_tokens_keep_their_score(processor, vocabulary):
    scores = processor(torch.tensor([[1, 2, 3]]), SCORES)
    kept = torch.nonzero(torch.isfinite(scores[0])).flatten().tolist()
    assert {vocabulary.token_bytes[token_id] for token_id in kept} == {
        b"a",
        b"ab",
        b"\xc3",
        "é".encode(),
    }
    assert torch.equal(SCORES, torch.zeros(1, PADDED_SIZE))


def test_a_second_generate_call_is_refused(processor):
    processor(torch.tensor([[1, 2, 3]]), SCORES)
    with pytest.raises(ValueError, match=r"^expected 1 rows of 4 tokens, got 1 of 3: make a new "):
        processor(torch.tensor([[1, 2, 3]]), SCORES)


def test_a_token_that_was_taken_out_is_refused(processor):
    processor(torch.tensor([[1, 2, 3]]), SCORES)
    with pytest.raises(ValueError, match=r"^row 0 holds token 5, which the grammar does not allow"):
        processor(torch.tensor([[1, 2, 3, 5]]), SCORES)


def test_going_on_after_every_row_has_ended_is_refused(processor, vocabulary):
    prompt = [1, 2, 3]
    for token_id in vocabulary.encode("é".encode()):
        processor(torch.tensor([prompt]), SCORES)
        prompt = [*prompt, token_id]
    processor(torch.tensor([prompt]), SCORES)
    with pytest.raises(ValueError, match=r"^every row has ended, but generate goes on: "):
        processor(torch.tensor([[*prompt, END_TOKEN_IDS[0]]]), SCORES)
