"""Laws of the whole engine under any interleaving of arrivals, aborts and steps.

The engine under test has few blocks, shares beginnings, forces text and tries drafts; the one that
says what is right has room enough and does none of it.
"""

from __future__ import annotations

import functools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.output import FinishReason
from engine.request import Request, SamplingParams
from tests.engine.support import (
    Closing,
    Faulty,
    Finished,
    Forcing,
    Script,
    prompt,
    run_all,
    tiny_engine,
)

BLOCK_SIZE = 4
NUM_BLOCKS = 12
BUDGET = 6
MAX_MODEL_LEN = BLOCK_SIZE * NUM_BLOCKS


def fail():
    raise RuntimeError("boom")


PREEMPTING = [(5, 20, "free", 1.0), (5, 20, "constrained", 0.0), (13, 20, "free", 1.0), 8]
"""Three that start together and grow past what the pool holds."""

CONSTRAINTS = {
    "free": lambda: None,
    "forced": lambda: Forcing([{60}, {61}, {62, 63}, {60}, {61}, range(40, 90)] * 3),
    "repetitive": lambda: Script([{60, 61}] * 30),
    "closing": lambda: Closing(42),
    "constrained": lambda: Script([range(40, 90)] * 15, ends_by_itself=False, complete_from=7),
    "mask fails": lambda: Faulty("fill_bitmask", 3, fail),
    "token refused": lambda: Faulty("accept_token", 2, lambda: "reject"),
}

REQUESTS = st.tuples(
    # Lengths around the ends of blocks, of the budget and of the context.
    st.sampled_from([1, 3, 4, 5, 6, 7, 8, 12, 13, 24, 40, 46, 47]),
    st.sampled_from([3, 4, 5, 6, 20]),
    st.sampled_from(sorted(CONSTRAINTS)),
    st.sampled_from([0.0, 1.0]),
)


def make_request(request_id, asked):
    prompt_len, max_tokens, constraint, temperature = asked
    sampling = SamplingParams(
        max_tokens,
        temperature=temperature,
        seed=prompt_len,
        frequency_penalty=0.5,
        # With logprobs nothing is forced, so only half of the requests want them.
        num_logprobs=1 if temperature else None,
    )
    closes = constraint == "closing" and prompt_len + 3 <= MAX_MODEL_LEN
    return Request(
        request_id,
        prompt(MAX_MODEL_LEN)[:prompt_len],  # all begin alike
        sampling,
        CONSTRAINTS[constraint](),
        on_length="close" if closes else "cut",
    )


@pytest.fixture(scope="module")
def tight():
    built = tiny_engine(
        block_size=BLOCK_SIZE,
        num_blocks=NUM_BLOCKS,
        max_num_seqs=4,
        max_num_batched_tokens=BUDGET,
        max_draft_tokens=3,
    )
    yield built
    counters = built.stats().counters
    assert counters.preemptions > 0, "the pool was never too small"
    assert counters.cached_prompt_tokens > 0
    assert counters.forced_tokens > 0
    assert counters.accepted_draft_tokens > 0
    assert counters.closed > 0
    built.close()


@pytest.fixture(scope="module")
def alone():
    """What a request gets from an engine with room enough, where it is alone."""
    roomy = tiny_engine(max_model_len=MAX_MODEL_LEN, forced_text=False, prefix_cache=False)

    @functools.cache
    def run_alone(asked):
        request = make_request("only", asked)
        return run_all(roomy, [request])["only"]

    yield run_alone
    roomy.close()


@settings(max_examples=25, deadline=None)
@given(
    actions=st.lists(
        st.one_of(
            REQUESTS,
            st.builds("abort {}".format, st.integers(0, 12)),
            st.integers(1, 8),  # steps
        ),
        min_size=4,
        max_size=30,
    )
)
@example(actions=PREEMPTING)
@example(actions=[*PREEMPTING, "abort 0", "abort 2"])
@example(
    actions=[(24, 20, "forced", 0.0), (24, 20, "repetitive", 0.0), 9, (24, 20, "closing", 0.0)]
)
def test_every_request_gets_what_it_gets_alone_and_nothing_is_left_behind(tight, alone, actions):
    asked: dict[str, tuple[int, int, str, float]] = {}
    finished: dict[str, Finished] = {}

    def step():
        for output in tight.step():
            finished[output.request_id].add(output)

    for action in actions:
        match action:
            case int(num_steps):
                for _ in range(num_steps):
                    step()
            case str(abort):
                output = tight.abort(abort.removeprefix("abort "))
                if output is not None:
                    finished[output.request_id].add(output)
            case request:
                request_id = str(len(asked))
                asked[request_id], finished[request_id] = request, Finished()
                tight.add_request(make_request(request_id, request))
    num_steps = 0
    while tight.has_unfinished:
        step()
        num_steps += 1
        assert num_steps < 5000, "the engine makes no progress"

    for request_id, request in asked.items():
        got, expected = finished[request_id], alone(request)
        # A mask that fails may be that of a draft, and the request then ends a little earlier.
        if got.finish_reason is FinishReason.ABORT or request[2] == "mask fails":
            assert got.token_ids == expected.token_ids[: len(got.token_ids)]
        else:
            assert got == expected
        if request[3]:
            assert [entry.token_id for entry in got.logprobs] == got.token_ids
    stats = tight.stats()
    assert (stats.num_running, stats.num_waiting) == (0, 0)
    assert stats.num_free_blocks == NUM_BLOCKS
