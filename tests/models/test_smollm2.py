"""The built-in SmolLM2, fetched and converted by our own code, is the real model."""

from __future__ import annotations

import hashlib

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

pytestmark = pytest.mark.model


def test_its_tokenizer_is_byte_for_byte_the_official_file(smollm2_folder):
    digest = hashlib.sha256((smollm2_folder / "tokenizer.json").read_bytes()).hexdigest()
    assert digest == "9ca9acddb6525a194ec8ac7a87f24fbba7232a9a15ffa1af0c1224fcd888e47c"


def test_it_knows_the_capital_of_france(smollm2_folder):
    tokenizer = AutoTokenizer.from_pretrained(smollm2_folder)
    model = AutoModelForCausalLM.from_pretrained(smollm2_folder, dtype=torch.float32)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        tokenize=False,
    )
    inputs = tokenizer(prompt, return_tensors="pt")
    output = model.generate(**inputs, max_new_tokens=12, do_sample=False)
    answer = str(tokenizer.decode(output[0][inputs.input_ids.shape[1] :]))
    assert "Paris" in answer
    assert answer.endswith("<|im_end|>")
