"""The grammar compiler alone, in plain transformers: a batch of prompts under one JSON Schema.

    .venv/bin/python examples/logits_processor.py [MODEL]

MODEL is a built-in name, a hub id, a local folder or a .gguf file; the default is small.
"""

from __future__ import annotations

import json
import sys

from transformers import AutoModelForCausalLM, AutoTokenizer

from grammars.compile import compile_grammar
from grammars.integrations.transformers import ConstraintLogitsProcessor
from grammars.spec import JsonSchema
from grammars.vocabulary import Vocabulary
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model

SCHEMA = {
    "type": "object",
    "properties": {
        "animal": {"type": "string", "maxLength": 20},
        "num_legs": {"type": "integer", "minimum": 0, "maximum": 1000},
    },
    "required": ["animal", "num_legs"],
    "additionalProperties": False,
}
QUESTIONS = ["Describe a spider as JSON.", "Describe a horse as JSON, please."]


def main(name: str) -> None:
    """Answer all questions in one batch."""
    folder = resolve_model(name, progress=TerminalProgress()).path
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(folder)
    end_token_ids = model.generation_config.eos_token_id
    vocabulary = Vocabulary(
        folder / "tokenizer.json",
        padded_size=model.config.vocab_size,
        end_token_ids=[end_token_ids] if isinstance(end_token_ids, int) else end_token_ids,
    )
    grammar = compile_grammar(JsonSchema.from_value(SCHEMA), vocabulary)

    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
        )
        for question in QUESTIONS
    ]
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    outputs = model.generate(
        **inputs,
        max_new_tokens=60,
        do_sample=False,
        logits_processor=[ConstraintLogitsProcessor(grammar)],
    )
    for question, output in zip(QUESTIONS, outputs, strict=True):
        text = tokenizer.decode(output[inputs.input_ids.shape[1] :], skip_special_tokens=True)
        print(question, json.loads(text))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "smollm2-135m")
