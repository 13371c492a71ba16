"""Masks of a step: shared ones by number, all others written; each job alone in its failures."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from engine.device.bitmask import bitmask_width
from engine.device.mask_pool import ALL_TOKENS, MaskPool
from engine.request import Request, SamplingParams
from engine.sequence import Sequence
from engine.step_masks import MaskJob, StepMasks, fill_row
from grammars.backends.base import get_backend
from grammars.spec import JsonSchema
from tests.engine.support import EOS, VOCAB_SIZE, Faulty, Script, greedy, prompt, run_all
from tests.support.tokenizers import tiny_vocabulary

VOCABULARY = tiny_vocabulary()
SIZE = VOCABULARY.padded_size
SCHEMA = JsonSchema('{"type": "array", "items": {"enum": ["a", 12, null]}, "maxItems": 3}')


class Sharing(Script):
    """A script that shares its masks."""

    def __init__(self, allowed, **options):
        super().__init__(allowed, **options)
        self._rows = {}

    def shared_bitmask(self):
        position = len(self.accepted)
        if position not in self._rows:
            row = np.zeros(bitmask_width(VOCAB_SIZE), np.int32)
            self.fill_bitmask(row)
            self._rows[position] = row
        return self._rows[position]


def job(name, constraint, drafts=(), on_length="cut", **options):
    sampling = SamplingParams(max_tokens=10, **options)
    request = Request(name, (5, 6), sampling, constraint, on_length=on_length)
    sequence = Sequence.from_request(request, arrival=0, eos_token_ids=(EOS,), max_model_len=90)
    return MaskJob(sequence, drafts)


@pytest.fixture
def masks():
    pool = MaskPool(
        bitmask_width(VOCAB_SIZE), max_bytes=1, max_step_rows=16, device=torch.device("cpu")
    )
    made = StepMasks(pool)
    yield made
    made.close()


def allowed_sets(masks, made):
    rows = masks.pool.rows[made.row_ids].numpy().view(np.uint8)
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    return [set(np.flatnonzero(row).tolist()) for row in bits]


def test_shared_masks_and_filled_ones_are_those_of_their_constraints(masks):
    jobs = [
        job("a", Sharing([{7}])),
        job("b", Script([{8, 9}])),
        job("c", Sharing([{10, 11}])),
        job("d", Script([{12}])),
    ]
    for _ in range(3):
        made = masks.start(jobs).result()
        assert allowed_sets(masks, made) == [{7}, {8, 9}, {10, 11}, {12}]
        assert made.errors == [None] * 4
        assert made.is_narrowed == [False] * 4
    assert masks.num_masks == 12
    assert masks.pool.num_copies == 2 + 3 * 2


def test_drafts_are_walked_along_and_taken_back(masks):
    sharing, plain = Sharing([{7}, {8}, {9}]), Script([{17}, {18}, {19}])
    made = masks.start([job("a", sharing, (7, 8)), job("b", plain, (17,))]).result()
    assert allowed_sets(masks, made) == [{7}, {8}, {9}, {17}, {18}]
    assert (sharing.accepted, plain.accepted) == ([], [])


def test_what_a_request_avoids_is_left_out_of_a_shared_mask_too(masks):
    constraint = Sharing([{7, 8}])
    made = masks.start([job("a", constraint, bad_words=((8,),)), job("b", constraint)]).result()
    assert allowed_sets(masks, made) == [{7}, {7, 8}]


def test_a_mask_that_the_token_limit_narrows_is_told(masks):
    class Short(Script):
        def fill_closing_bitmask(self, row, tokens_left):
            self.allowed, allowed = [frozenset({8})], self.allowed
            self.fill_bitmask(row)
            self.allowed = allowed

    jobs = [job("a", Short([{7, 8}]), on_length="close"), job("b", Short([{8}]), on_length="close")]
    made = masks.start(jobs).result()
    assert allowed_sets(masks, made) == [{8}, {8}]
    assert made.is_narrowed == [True, False]


def raising():
    raise RuntimeError("lost")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (lambda: "empty", "the constraint allows no token here"),
        (
            raising,
            "making the constraint's mask failed (RuntimeError); the server's log has the details",
        ),
    ],
)
@pytest.mark.parametrize("drafts", [(), (20, 21)])
def test_a_constraint_that_fails_leaves_the_others_theirs(masks, fault, sentence, drafts):
    bad = job("bad", Faulty("fill_bitmask", len(drafts), fault), drafts)
    made = masks.start([job("a", Sharing([{7}])), bad, job("b", Script([{8}]))]).result()
    sets = allowed_sets(masks, made)
    assert len(sets) == 2 + bad.num_rows
    assert (sets[0], sets[-1]) == ({7}, {8})
    assert made.errors == [None, sentence, None]
    constraint = bad.sequence.request.constraint
    assert constraint.accepted == [], "a step that is repeated would begin somewhere else"
    assert made.row_ids[-2] == ALL_TOKENS


def test_a_shared_mask_that_allows_nothing_ends_its_request_alone(masks):
    jobs = [job("a", Sharing([set()], complete_from=9)), job("b", Sharing([{9}]))]
    made = masks.start(jobs).result()
    assert made.errors == ["the constraint allows no token here", None]
    assert allowed_sets(masks, made)[1] == {9}


def test_a_shared_row_of_another_vocabulary_ends_its_request_alone(masks):
    wrong = Sharing([{7}])
    wrong._rows[0] = np.ones(3, np.int32)
    made = masks.start([job("a", wrong), job("b", Sharing([{9}]))]).result()
    assert made.errors[0] is not None
    assert "ValueError" in made.errors[0]
    assert made.errors[1] is None


@pytest.mark.parametrize("backend", ["tightrope", "llguidance", "xgrammar", "outlines"])
def test_what_a_matcher_shares_is_what_it_fills(backend):
    """The plain loop, one row after the other, is the reference of the step's one call."""
    if backend != "tightrope":
        pytest.importorskip(backend.replace("outlines", "outlines_core"))
    compiled = get_backend(backend).compile(SCHEMA, VOCABULARY)
    texts = [VOCABULARY.encode(text) for text in (b"", b"[", b'["a"', b"[12,null", b"[12,null]")]
    matchers = []
    for token_ids in texts * 2:
        matcher = compiled.matcher()
        for token_id in token_ids:
            if not matcher.accept_token(token_id):
                break  # some backends write a space behind each comma
        matchers.append(matcher)
    expected = np.zeros((len(matchers), bitmask_width(SIZE)), np.int32)
    for row, matcher in zip(expected, matchers, strict=True):
        fill_row(row, matcher)
    pool = MaskPool(bitmask_width(SIZE), max_bytes=1, max_step_rows=10, device=torch.device("cpu"))
    masks = StepMasks(pool)
    for _ in range(2):
        made = masks.start([job(str(i), matcher) for i, matcher in enumerate(matchers)]).result()
        assert made.errors == [None] * len(matchers)
        assert np.array_equal(pool.rows[made.row_ids].numpy(), expected)
    masks.close()
    num_distinct = len(np.unique(expected, axis=0))
    assert pool.num_copies == (num_distinct if backend == "tightrope" else 2 * len(matchers))


def test_b085_the_masks_of_a_step_are_made_in_one_piece_while_its_model_runs(engine, monkeypatch):
    """The model here waits for the last mask: were that made after it, nobody would go on."""
    made = threading.Event()

    class Telling(Script):
        def fill_bitmask(self, row):
            super().fill_bitmask(row)
            made.set()

    run, start = engine._runner.run, engine._masks.start
    started: list[list[str]] = []

    def run_when_masks_are_made(spans):
        if started[-1]:
            assert made.wait(timeout=60), "no mask is made while the model runs"
        return run(spans)

    def note_jobs(jobs):
        made.clear()
        started.append([job.sequence.request.request_id for job in jobs])
        return start(jobs)

    monkeypatch.setattr(engine._runner, "run", run_when_masks_are_made)
    monkeypatch.setattr(engine._masks, "start", note_jobs)
    requests = [Request(name, prompt(4), greedy(3), Telling([{7, 8}] * 3)) for name in "abc"]
    finished = run_all(engine, requests)
    assert all(len(answer.token_ids) == 3 for answer in finished.values())
    assert started[-1] == ["a", "b", "c"], "one call for the whole batch"
    assert len(started) == max(answer.work.num_forward_passes for answer in finished.values())


def test_a_matcher_whose_text_has_ended_shares_nothing():
    matcher = get_backend().compile(SCHEMA, VOCABULARY).matcher()
    for token_id in [*VOCABULARY.encode(b"[12]"), VOCABULARY.end_token_ids[0]]:
        assert matcher.shared_bitmask() is not None
        assert matcher.accept_token(token_id)
    assert matcher.shared_bitmask() is None
