"""Equal beginnings are computed once, and nobody sees a difference but in time."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from engine.block_pool import BlockPool
from engine.request import Request, SamplingParams
from tests.engine.support import Faulty, Script, greedy, prompt, run_all, run_one, tiny_engine

BLOCK_SIZE = 8


@pytest.fixture
def engine():
    built = tiny_engine(block_size=BLOCK_SIZE, max_num_seqs=8, max_num_batched_tokens=32)
    yield built
    assert built.stats().num_free_blocks == built.config.num_blocks
    built.close()


@pytest.fixture(scope="module")
def uncached():
    built = tiny_engine(block_size=BLOCK_SIZE, max_num_seqs=8, prefix_cache=False)
    yield built
    built.close()


def cached_tokens(engine, token_ids, **options):
    request = Request("only", token_ids, greedy(1), **options)
    return run_all(engine, [request])["only"].num_cached_tokens


@pytest.mark.parametrize(
    ("length", "hits"),
    [
        (1, 0),
        (8, 0),  # the last token is always computed, and with it its block
        (9, 8),
        (16, 8),
        (17, 16),
        (40, 32),
    ],
)
def test_full_blocks_before_the_last_token_are_found_again(engine, length, hits):
    assert [cached_tokens(engine, prompt(length)) for _ in range(2)] == [0, hits]


def test_a_beginning_is_found_up_to_the_first_block_that_differs(engine):
    first = prompt(40)
    cached_tokens(engine, first)
    for same in (0, 7, 8, 15, 16, 31, 39):
        other = (*first[:same], 3 + (first[same] - 2) % 200, *first[same + 1 :])
        assert cached_tokens(engine, other) == min(same, 39) // BLOCK_SIZE * BLOCK_SIZE
    # The same block behind another beginning is another block.
    assert cached_tokens(engine, (*first[8:16], *first[8:16], *first[16:])) == 0


def test_generated_tokens_are_found_too(engine):
    first = run_one(engine, prompt(10), greedy(30))
    # The last token was sampled and never computed.
    assert cached_tokens(engine, (*prompt(10), *first.token_ids, 5)) == 39 // 8 * 8


def test_other_salts_share_nothing(engine):
    assert cached_tokens(engine, prompt(20), cache_salt=b"a") == 0
    assert cached_tokens(engine, prompt(20), cache_salt=b"b") == 0
    assert cached_tokens(engine, prompt(20)) == 0
    assert cached_tokens(engine, prompt(20), cache_salt=b"a") == 16
    together = [
        Request(str(salt), prompt(21, 3), greedy(2), cache_salt=bytes([salt])) for salt in range(3)
    ]
    assert [f.num_cached_tokens for f in run_all(engine, together).values()] == [0, 0, 0]


def test_a_hit_changes_no_token_and_no_logprob(engine, uncached):
    sampling = SamplingParams(max_tokens=12, seed=3, num_logprobs=4)
    for length in (9, 17, 30, 43):
        expected = run_one(uncached, prompt(length), sampling)
        assert run_one(engine, prompt(length), sampling) == expected
        again = run_one(engine, prompt(length), sampling)
        assert again == expected
        assert again.num_cached_tokens > 0


def test_nothing_is_found_where_the_cache_is_off(uncached):
    assert [cached_tokens(uncached, prompt(40)) for _ in range(2)] == [0, 0]


@pytest.mark.parametrize(
    ("prompt_len", "num_computed"),
    [
        (3, 4 * 3),  # there is no block to wait for
        (21, 21 + 3),  # each choice computes the last token
        (24, 24 + 3),
        (25, 25 + 3),
        (70, 70 + 3 * 6),  # all start in the step that computes the last six
    ],
)
def test_choices_of_one_prompt_compute_it_once(engine, uncached, prompt_len, num_computed):
    def choices():
        return [
            Request(
                str(seed), prompt(prompt_len), SamplingParams(max_tokens=9, seed=seed), script(seed)
            )
            for seed in range(4)
        ]

    def script(seed):
        return Script([range(10, 150)] * 9) if seed % 2 else None

    alone = {r.request_id: run_all(uncached, [r])[r.request_id] for r in choices()}
    before = engine.stats().counters.prefill_tokens
    assert run_all(engine, choices()) == alone
    assert engine.stats().counters.prefill_tokens - before == num_computed


def test_a_block_that_two_began_alike_is_copied_before_they_part(engine, uncached):
    first = prompt(30)
    requests = [
        Request("first", first, greedy(20)),
        Request("second", (*first[:21], 7, 8, 9), greedy(20)),
    ]
    alone = {r.request_id: run_all(uncached, [r])[r.request_id] for r in requests}
    num_copies = engine.stats().counters.block_copies
    engine.add_request(requests[0])
    outputs = engine.step()
    engine.add_request(requests[1])
    finished: dict[str, list[int]] = {"first": [], "second": []}
    while engine.has_unfinished:
        outputs += engine.step()
    for output in outputs:
        finished[output.request_id] += output.token_ids
        if output.request_id == "second":
            assert output.num_cached_tokens == 21
    assert finished == {name: f.token_ids for name, f in alone.items()}
    assert engine.stats().counters.block_copies == num_copies + 1


def test_a_prompt_that_is_being_computed_is_waited_for_by_those_that_need_it(engine):
    engine.add_request(Request("long", prompt(100), greedy(2)))
    engine.step()
    engine.add_request(Request("same", prompt(100), greedy(2)))
    engine.step()
    assert (engine.stats().num_running, engine.stats().num_waiting) == (1, 1)
    engine.abort("long")  # the one that waited goes on from what there is
    outputs = []
    while engine.has_unfinished:
        outputs += engine.step()
    assert outputs[-1].num_cached_tokens == 64
    assert outputs[-1].request_id == "same"


def test_the_least_recently_used_blocks_are_given_up_first():
    engine = tiny_engine(block_size=BLOCK_SIZE, num_blocks=8, max_num_seqs=1)
    for salt in (1, 2, 1):
        cached_tokens(engine, prompt(24, salt))  # 3 blocks each, of which 2 can be used again
    assert engine.stats().counters.evictions == 0
    cached_tokens(engine, prompt(40, 3))  # 5 blocks: 2 were blank, 3 are taken from the second
    assert engine.stats().counters.evictions == 3
    assert cached_tokens(engine, prompt(24, 1)) == 16
    assert cached_tokens(engine, prompt(24, 2)) == 0


def test_a_preempted_sequence_finds_its_own_blocks_again(uncached):
    lengths = (14, 14, 50)
    requests = [Request(str(i), prompt(20, i), greedy(lengths[i])) for i in range(3)]
    engine = tiny_engine(block_size=BLOCK_SIZE, num_blocks=11, max_num_seqs=3)
    assert run_all(engine, requests) == run_all(uncached, requests)
    counters = engine.stats().counters
    assert counters.preemptions == 1
    # The others have taken two of its three blocks. It is no hit of the caller's.
    assert counters.prefill_tokens == 3 * 20 + 12
    assert counters.cached_prompt_tokens == 0


def test_what_a_failed_sequence_has_computed_is_not_found(engine, monkeypatch):
    run = engine._runner.run

    @torch.inference_mode()
    def poisoned(spans):
        return run(spans) * torch.nan

    with monkeypatch.context() as patched:
        patched.setattr(engine._runner, "run", poisoned)
        failed = run_one(engine, prompt(30), greedy(3))
    assert failed.error == "the model gave no finite logit to choose from"
    assert cached_tokens(engine, prompt(30)) == 0
    refused = Faulty("accept_token", 0, lambda: "reject")
    assert run_one(engine, prompt(31), greedy(3), refused).error is not None
    assert cached_tokens(engine, prompt(31)) == 0


def test_a_block_is_free_when_nobody_holds_it_any_more():
    pool = BlockPool(3)
    blocks = pool.allocate(2)
    pool.retain(blocks)
    pool.release(blocks)
    assert pool.num_free == 1
    pool.release(blocks)
    assert pool.num_free == 3
    assert sorted(pool.allocate(3)) == [1, 2, 3]


def test_a_block_with_known_content_is_found_until_it_is_handed_out():
    pool = BlockPool(3)
    held = pool.allocate(3)
    for block_id, name in zip(held, (b"a", b"b", b"c"), strict=True):
        pool.publish(block_id, name)
    pool.release(held)
    assert pool.num_free == 3
    assert [pool.find(name) for name in (b"a", b"b", b"c")] == held
    pool.retain(held[:1])
    assert pool.num_free == 2
    assert pool.allocate(1) == [held[2]]  # the end of a prefix goes first
    assert [pool.find(name) for name in (b"a", b"b", b"c")] == [held[0], held[1], None]
    pool.forget(held[:1])
    assert pool.find(b"a") is None


def test_of_two_blocks_with_the_same_content_the_first_is_known():
    pool = BlockPool(2)
    first, second = pool.allocate(2)
    pool.publish(first, b"a")
    pool.publish(second, b"a")
    assert pool.find(b"a") == first
    pool.release([second])
    assert pool.find(b"a") == first


def test_taking_more_blocks_than_there_are_is_a_bug():
    with pytest.raises(AssertionError):
        BlockPool(3).allocate(4)


def test_the_work_of_a_request_is_told_at_its_end(engine):
    run_one(engine, prompt(20), greedy(5))
    work = run_one(engine, prompt(20), greedy(5)).work
    assert dataclasses.asdict(work) == {
        "num_forward_passes": 5,
        "num_computed_tokens": 4 + 4,
        "num_cached_tokens": 16,
        "num_forced_tokens": 0,
        "num_draft_tokens": 0,
        "num_accepted_draft_tokens": 0,
        "num_preemptions": 0,
    }
