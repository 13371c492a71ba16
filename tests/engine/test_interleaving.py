"""Laws of the whole engine under any interleaving of arrivals, aborts and steps."""

from __future__ import annotations

import functools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.output import FinishReason
from engine.request import Request, SamplingParams
from tests.engine.support import Faulty, Finished, Script, prompt, run_one, tiny_engine

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
    "constrained": lambda: Script([range(40, 90)] * 15, ends_by_itself=False, complete_from=7),
    "mask fails": lambda: Faulty("fill_bitmask", 3, fail),
    "token refused": lambda: Faulty("accept_token", 2, lambda: "reject"),
}

REQUESTS = st.tuples(
    # Lengths around the ends of blocks, of the budget and of the context.
    st.sampled_from([1, 3, 4, 5, 6, 7, 8, 12, 13, 24, 40, 46, 47]),
    st.sampled_from([1, 2, 4, 5, 20]),
    st.sampled_from(sorted(CONSTRAINTS)),
    st.sampled_from([0.0, 1.0]),
)


def make_request(request_id, asked):
    prompt_len, max_tokens, constraint, temperature = asked
    sampling = SamplingParams(
        max_tokens, temperature=temperature, seed=prompt_len, frequency_penalty=0.5, num_logprobs=1
    )
    return Request(request_id, prompt(prompt_len), sampling, CONSTRAINTS[constraint]())


@pytest.fixture(scope="module")
def tight():
    built = tiny_engine(
        block_size=BLOCK_SIZE,
        num_blocks=NUM_BLOCKS,
        max_num_seqs=4,
        max_num_batched_tokens=BUDGET,
    )
    yield built
    assert built.stats().counters.preemptions > 0, "the pool was never too small"
    built.close()


@pytest.fixture(scope="module")
def alone():
    """What a request gets from an engine with room enough, where it is alone."""
    roomy = tiny_engine(max_model_len=MAX_MODEL_LEN)

    @functools.cache
    def run_alone(asked):
        request = make_request("only", asked)
        return run_one(roomy, request.prompt_token_ids, request.sampling, request.constraint)

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
        if got.finish_reason is FinishReason.ABORT:
            assert got.token_ids == expected.token_ids[: len(got.token_ids)]
        else:
            assert got == expected
        assert [entry.token_id for entry in got.logprobs] == got.token_ids
    stats = tight.stats()
    assert (stats.num_running, stats.num_waiting) == (0, 0)
    assert stats.num_free_blocks == NUM_BLOCKS
