"""The law of the whole engine: any requests, arriving and going at any time, each gets what it
gets alone.

The engines under test have few blocks and share beginnings; one forces text and tries drafts, the
other runs bursts. The one that says what is right has room enough and does none of it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.config import EngineConfig
from engine.load import build_engine
from engine.output import FinishReason
from engine.request import PromptScoring, Request, SamplingParams
from tests.engine.support import (
    EOS,
    Closing,
    Faulty,
    Finished,
    Forcing,
    Script,
    ScriptTables,
    prompt,
    run_all,
    tiny_model,
)

BLOCK_SIZE = 4
NUM_BLOCKS = 12
BUDGET = 6
MAX_MODEL_LEN = BLOCK_SIZE * NUM_BLOCKS
OTHER_END = 45


def fail():
    raise RuntimeError("boom")


FINITE = {
    "forced": lambda: Forcing([{60}, {61}, {62, 63}, {60}, {61}, range(40, 90)] * 3),
    "repetitive": lambda: Script([{60, 61}] * 30),
    "constrained": lambda: Script([range(40, 90)] * 15, ends_by_itself=False, complete_from=7),
}
TABLES = {name: ScriptTables(make()) for name, make in FINITE.items()}

CONSTRAINTS = FINITE | {
    "free": lambda: None,
    "closing": lambda: Closing(42),
    "mask fails": lambda: Faulty("fill_bitmask", 3, fail),
    "token refused": lambda: Faulty("accept_token", 2, lambda: "reject"),
}

OPTIONS: dict[str, dict[str, Any]] = {
    "few": {"top_k": 5},
    "nucleus": {"top_p": 0.8},
    "likely": {"min_p": 0.05},
    "penalties": {"frequency_penalty": 0.5, "presence_penalty": 1.0, "repetition_penalty": 1.2},
    "bias": {"logit_bias": {60: 3.0, 42: 2.0, EOS: 4.0, OTHER_END: 4.0}},
    "logprobs": {"num_logprobs": 2},
    "logprobs of the model": {"num_logprobs": 1, "logprobs_of": "model"},
    "stop tokens": {"stop_token_ids": (60, 47)},
    "bad words": {"bad_words": ((61,), (60, 60), (42,))},
    "at least": {"min_tokens": 3},
    "no end": {"ignore_eos": True},
}


@dataclass(frozen=True)
class Asked:
    """A request in few words.

    Args:
        prompt_len: of a text with which all prompts begin.
        max_tokens: of the output.
        constraint: one of CONSTRAINTS.
        temperature: 0: greedy.
        options: of OPTIONS.
        scored_from: prompt tokens that are scored begin here; None: none are.
        caller: those of one caller share what they begin with.
    """

    prompt_len: int
    max_tokens: int
    constraint: str
    temperature: float = 0.0
    options: frozenset[str] = frozenset()
    scored_from: int | None = None
    caller: bytes = b""

    def request(self, request_id: str) -> Request:
        given: dict[str, Any] = {}
        for name in sorted(self.options):
            given |= OPTIONS[name]
        sampling = SamplingParams(
            self.max_tokens, temperature=self.temperature, seed=self.prompt_len, **given
        )
        closes = self.constraint == "closing" and self.prompt_len + 3 <= MAX_MODEL_LEN
        return Request(
            request_id,
            prompt(MAX_MODEL_LEN)[: self.prompt_len],
            sampling,
            CONSTRAINTS[self.constraint](),
            cache_salt=self.caller,
            on_length="close" if closes else "cut",
            prompt_scoring=None
            if self.scored_from is None
            else PromptScoring(min(self.scored_from, self.prompt_len), num_top=1),
            automaton=TABLES.get(self.constraint),
        )


ANY = st.builds(
    Asked,
    # Lengths around the ends of blocks, of the budget and of the context.
    st.sampled_from([1, 3, 4, 5, 6, 7, 8, 12, 13, 24, 40, 46, 47]),
    st.sampled_from([3, 4, 5, 6, 20]),
    st.sampled_from(sorted(CONSTRAINTS)),
    st.sampled_from([0.0, 1.0]),
    st.frozensets(st.sampled_from(sorted(OPTIONS)), max_size=4),
    st.sampled_from([None, None, None, 1, 5]),
    st.sampled_from([b"", b"", b"other"]),
)

PREEMPTING = [
    Asked(5, 20, "free", 1.0, frozenset({"no end"})),
    Asked(5, 20, "constrained"),
    Asked(13, 20, "free", 1.0, frozenset({"no end"})),
    8,
]
"""Three that start together and grow past what the pool holds."""

CHOICES = [
    *[Asked(13, 20, "forced", 1.0)] * 2,
    *[Asked(13, 20, "closing", 1.0, frozenset({"bad words", "stop tokens"}))] * 2,
    20,
]
"""Choices of one prompt, which share its blocks while text is forced, guessed and closed."""


@pytest.fixture(scope="module")
def build():
    """Builds an engine around a model with two end tokens."""
    built = []

    def build(**options):
        model = tiny_model()
        model.generation_config.eos_token_id = [EOS, OTHER_END]
        built.append(build_engine(model, EngineConfig(**options), name="tiny"))
        return built[-1]

    yield build
    for engine in built:
        engine.close()


@pytest.fixture(scope="module", params=["drafts", "bursts"])
def tight(build, request):
    options = {"drafts": {"max_draft_tokens": 3}, "bursts": {"max_burst_steps": 3}}
    engine = build(
        block_size=BLOCK_SIZE,
        num_blocks=NUM_BLOCKS,
        max_num_seqs=4,
        max_num_batched_tokens=BUDGET,
        **options[request.param],
    )
    yield engine
    counters = engine.stats().counters
    assert counters.preemptions > 0, "the pool was never too small"
    assert counters.cached_prompt_tokens > 0
    assert counters.block_copies > 0
    assert counters.forced_tokens > 0
    assert counters.closed > 0
    assert (counters.accepted_draft_tokens if request.param == "drafts" else counters.bursts) > 0


@pytest.fixture(scope="module")
def alone(build):
    """What a request gets from an engine with room enough, where it is alone."""
    roomy = build(max_model_len=MAX_MODEL_LEN, forced_text=False, prefix_cache=False)

    @functools.cache
    def run_alone(asked):
        return run_all(roomy, [asked.request("only")])["only"]

    return run_alone


@settings(max_examples=25, deadline=None)
@given(
    actions=st.lists(
        st.one_of(
            ANY,
            st.builds("abort {}".format, st.integers(0, 12)),
            st.integers(1, 8),  # steps
        ),
        min_size=4,
        max_size=30,
    )
)
@example(actions=PREEMPTING)
@example(actions=[*PREEMPTING, "abort 0", "abort 2"])
@example(actions=CHOICES)
@example(actions=[*CHOICES, *PREEMPTING, *CHOICES])
@example(
    actions=[
        Asked(24, 20, "forced"),
        Asked(24, 20, "repetitive"),
        9,
        Asked(24, 20, "closing", 1.0, frozenset({"penalties"})),
    ]
)
def test_every_request_gets_what_it_gets_alone_and_nothing_is_left_behind(tight, alone, actions):
    asked: dict[str, Asked] = {}
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
            case new:
                request_id = str(len(asked))
                asked[request_id], finished[request_id] = new, Finished()
                tight.add_request(new.request(request_id))
    num_steps = 0
    while tight.has_unfinished:
        step()
        num_steps += 1
        assert num_steps < 5000, "the engine makes no progress"

    for request_id, of_request in asked.items():
        got, expected = finished[request_id], alone(of_request)
        # A mask that fails may be that of a draft, and the request then ends a little earlier.
        if got.finish_reason is FinishReason.ABORT or of_request.constraint == "mask fails":
            assert got.token_ids == expected.token_ids[: len(got.token_ids)]
        else:
            assert got == expected
        if of_request.options & {"logprobs", "logprobs of the model"}:
            assert [entry.token_id for entry in got.logprobs] == got.token_ids
    stats = tight.stats()
    assert (stats.num_running, stats.num_waiting) == (0, 0)
    assert stats.num_free_blocks == NUM_BLOCKS
