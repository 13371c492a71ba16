"""The device benchmark measures every way of applying masks, on the CPU where there is no GPU."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks.device import main
from benchmarks.device_steps import METHODS, make_parts
from benchmarks.masks import main as measure_masks
from tests.support.tokenizers import tiny_vocabulary

PEERS = ("xgrammar", "llguidance", "outlines")  # they may spell a document otherwise
OURS = ["resident", "pooled", "copied", "logits processor"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("device") / "tokenizer.json"
    path.write_bytes(tiny_vocabulary()._source)
    return str(path)


def run(tokenizer, *arguments):
    vocabulary = tiny_vocabulary()
    end = next(c.text for c in vocabulary.controls if c.token_id in vocabulary.end_token_ids)
    return main(["--tokenizer", tokenizer, "--end-token", end, *arguments])


def test_every_way_is_measured_at_every_size(tokenizer, tmp_path, capsys):
    sizes = ["--batch-sizes", "1", "3", "--vocab-sizes", "100", "2048", "--steps", "2"]
    methods = ["--methods", *OURS, "xgrammar", "llguidance", "outlines"]
    assert run(tokenizer, *sizes, *methods, "--output", str(tmp_path)) == 0
    cells = json.loads((tmp_path / "device.json").read_text())["masks"]
    assert len(cells) == 2 * 2 * len(methods[1:])
    small = [cell for cell in cells if cell["vocab_size"] != 2048]
    assert {cell["refusal"] for cell in small} == {"the tokenizer has more tokens"}
    measured = {(c["method"], c["batch_size"]) for c in cells if c["step_us"] is not None}
    assert measured >= {(method, batch_size) for method in OURS for batch_size in (1, 3)}
    for cell in cells:
        if cell["step_us"] is not None:
            names = {"logits processor": ["apply"], "resident": ["apply", "advance"]}
            assert [*cell["parts_us"]] == names.get(cell["method"], ["fill", "apply", "advance"])
    assert (tmp_path / "device.svg").read_text().startswith("<svg")
    assert "resident" in capsys.readouterr().out


@pytest.mark.parametrize("method", [m for m in METHODS if m != "logits processor"])
def test_every_way_leaves_the_tokens_that_the_plain_loop_leaves(method):
    if method in PEERS:
        pytest.importorskip(method.replace("outlines", "outlines_core"))
    vocabulary = tiny_vocabulary()
    reference, logits = torch.zeros((2, 5, vocabulary.padded_size))
    plain = make_parts("copied", vocabulary, reference)
    parts = make_parts(method, vocabulary, logits)
    for _ in range(60):  # the whole document, and the next one's beginning
        reference.zero_()
        logits.zero_()
        for part in (*plain.values(), *parts.values()):
            part()
        assert torch.equal(logits, reference) or method in PEERS
        assert logits.isfinite().any(dim=1).all()


def test_a_tokenizer_that_cannot_be_used_is_told(tokenizer, capsys):
    assert main(["--tokenizer", tokenizer, "--end-token", "no such token"]) == 2
    assert capsys.readouterr().out.startswith("tightrope bench device: ")


def test_the_command_of_masks_leads_there(tokenizer, capsys):
    vocabulary = tiny_vocabulary()
    end = next(c.text for c in vocabulary.controls if c.token_id in vocabulary.end_token_ids)
    sizes = ["--batch-sizes", "1", "--vocab-sizes", "2048", "--steps", "1"]
    flags = ["--tokenizer", tokenizer, "--end-token", end, "--methods", "pooled", *sizes]
    assert measure_masks(["--device", *flags]) == 0
    assert "pooled" in capsys.readouterr().out
