"""The scheduler: budget, order, chunks, preemption, and blocks that always add up."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.block_pool import NULL_BLOCK, BlockPool
from engine.prefix_cache import PrefixCache
from engine.request import Request, SamplingParams
from engine.scheduler import Scheduler
from engine.sequence import Sequence


class Simulation:
    """A scheduler with a model that always samples token 7; checks the invariants at each step."""

    def __init__(
        self, *, num_blocks=100, block_size=4, max_num_seqs=4, budget=8, prefix_cache=False
    ):
        self.pool = BlockPool(num_blocks)
        self.num_blocks, self.block_size, self.budget = num_blocks, block_size, budget
        self.max_num_seqs = max_num_seqs
        self.cache = PrefixCache(self.pool, block_size, is_on=prefix_cache)
        self.scheduler = Scheduler(
            self.pool,
            self.cache,
            block_size=block_size,
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=budget,
        )
        self.sequences = []
        self.lengths = {}
        self.finished = []
        self.content: dict[int, list[int]] = {}

    def write(self, sequence, position, held):
        """Compute one token; nobody else may hold the block that it is written to."""
        block_id = sequence.block_ids[position // self.block_size]
        assert held.count(block_id) == 1, "a shared block is written"
        offset = position % self.block_size
        written = self.content.get(block_id, [])[:offset]
        assert len(written) == offset, "a token is left out"
        self.content[block_id] = [*written, sequence.token_ids[position]]

    def check_content(self, sequence):
        """What counts as computed is there, and is the sequence's own."""
        for position in range(sequence.num_computed_tokens):
            block_id = sequence.block_ids[position // self.block_size]
            stored = self.content[block_id][position % self.block_size]
            assert stored == sequence.token_ids[position]

    def add(self, prompt_len, max_tokens, token_id=5, caller=b""):
        prompt, name = (token_id,) * prompt_len, str(len(self.sequences))
        request = Request(name, prompt, SamplingParams(max_tokens), cache_salt=caller)
        sequence = Sequence.from_request(request, arrival=len(self.sequences), max_model_len=1000)
        self.sequences.append(sequence)
        self.scheduler.add(sequence)
        return sequence

    def step(self):
        """The chunks of one step as {request id: tokens}, after carrying them out."""
        plan = self.scheduler.schedule()
        chunks = plan.chunks
        assert sum(chunk.num_tokens for chunk in chunks) <= self.budget
        assert len(self.scheduler.running) <= self.max_num_seqs
        arrivals = [sequence.arrival for sequence in self.scheduler.running]
        assert arrivals == sorted(arrivals)
        held = [block for s in self.scheduler.running for block in s.block_ids]
        assert NULL_BLOCK not in held
        assert len(set(held)) + self.pool.num_free == self.num_blocks
        for copy in plan.block_copies:
            self.content[copy.target] = list(self.content.get(copy.source, []))
        for chunk in chunks:
            sequence = chunk.sequence
            assert chunk.num_tokens > 0
            self.check_content(sequence)
            for position in range(chunk.num_tokens):
                self.write(sequence, sequence.num_computed_tokens + position, held)
            sequence.num_computed_tokens += chunk.num_tokens
            self.cache.publish(sequence)
            assert len(sequence.block_ids) * self.block_size >= sequence.num_computed_tokens
            assert chunk.samples == (sequence.num_uncomputed_tokens == 0)
            if chunk.samples:
                sequence.append(7)
                if sequence.num_output_tokens == sequence.request.sampling.max_tokens:
                    self.scheduler.remove(sequence)
                    self.finished.append(sequence.request.request_id)
        return {chunk.sequence.request.request_id: chunk.num_tokens for chunk in chunks}

    def step_until(self, is_reached):
        for _ in range(100):
            if is_reached():
                return
            self.step()
        raise AssertionError("not reached in 100 steps")


def test_a_long_prompt_is_cut_into_chunks_of_the_budget():
    simulation = Simulation(budget=8)
    simulation.add(20, 2)
    assert [simulation.step() for _ in range(5)] == [{"0": 8}, {"0": 8}, {"0": 4}, {"0": 1}, {}]


def test_decodes_come_before_the_rest_of_a_prompt():
    simulation = Simulation(budget=8)
    simulation.add(30, 2)
    simulation.add(2, 5)
    assert [simulation.step() for _ in range(3)] == [{"0": 8}, {"0": 8}, {"0": 8}]
    assert simulation.step() == {"0": 6, "1": 2}
    assert simulation.step() == {"0": 1, "1": 1}
    simulation.add(50, 1)
    assert simulation.step() == {"1": 1, "2": 7}


def test_requests_start_in_the_order_of_arrival_and_none_overtakes():
    simulation = Simulation(num_blocks=8, block_size=4, budget=64)
    simulation.add(20, 4)
    simulation.add(24, 4)  # needs 6 of the 3 blocks left
    simulation.add(2, 4)  # would fit
    assert simulation.step() == {"0": 20}
    simulation.step_until(lambda: len(simulation.finished) == 3)
    assert simulation.finished == ["0", "1", "2"]


def test_one_callers_flood_keeps_others_waiting_for_one_place_only():
    simulation = Simulation(max_num_seqs=1, budget=64)
    for _ in range(20):
        simulation.add(3, 2, caller=b"flood")
    simulation.step()
    simulation.add(3, 2, caller=b"one")
    simulation.add(3, 2, caller=b"other")
    simulation.step_until(lambda: len(simulation.finished) == 22)
    assert simulation.finished[:5] == ["0", "1", "20", "21", "2"]


def test_no_more_than_max_num_seqs_run():
    simulation = Simulation(max_num_seqs=2, budget=64)
    for _ in range(3):
        simulation.add(3, 3)
    assert simulation.step() == {"0": 3, "1": 3}


def test_the_youngest_gives_way_when_blocks_run_out_and_is_computed_again():
    simulation = Simulation(num_blocks=5, block_size=4, budget=64)
    simulation.add(7, 12)
    young = simulation.add(4, 12)
    assert simulation.step() == {"0": 7, "1": 4}
    simulation.step_until(lambda: simulation.scheduler.num_preemptions > 0)
    assert (young.block_ids, young.num_computed_tokens) == ([], 0)
    assert list(simulation.scheduler.waiting) == [young]
    simulation.step_until(lambda: len(simulation.finished) == 2)
    assert simulation.pool.num_free == 5


def test_drafts_of_one_leave_every_other_its_token():
    simulation = Simulation(budget=4)
    for sequence in [simulation.add(1, 9) for _ in range(2)]:
        sequence.draft_token_ids = [7] * 10
    simulation.step()
    chunks = simulation.scheduler.schedule().chunks
    assert [(chunk.num_tokens, len(chunk.draft_token_ids)) for chunk in chunks] == [(1, 2), (1, 0)]


def test_drafts_are_left_out_before_anyone_gives_way():
    simulation = Simulation(num_blocks=3, block_size=4, budget=64)
    for sequence in [simulation.add(3, 9) for _ in range(2)]:
        sequence.draft_token_ids = [7] * 5
    simulation.step()
    chunks = simulation.scheduler.schedule().chunks
    assert [(chunk.num_tokens, chunk.draft_token_ids) for chunk in chunks] == [(1, ()), (1, ())]
    assert simulation.scheduler.num_preemptions == 0


@settings(max_examples=60, deadline=None)
@given(
    requests=st.lists(
        st.tuples(st.integers(1, 30), st.integers(1, 30), st.sampled_from([5, 6, 7])),
        min_size=1,
        max_size=12,
    ),
    num_blocks=st.integers(15, 40),
    budget=st.integers(4, 40),
    aborts=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 11)), max_size=4),
    prefix_cache=st.booleans(),
)
def test_every_request_that_fits_alone_ends_and_no_block_is_lost(
    requests, num_blocks, budget, aborts, prefix_cache
):
    simulation = Simulation(num_blocks=num_blocks, budget=budget, prefix_cache=prefix_cache)
    for prompt_len, max_tokens, token_id in requests:
        simulation.add(prompt_len, max_tokens, token_id)
    aborted: set[str] = set()
    for step in range(5000):
        for at, index in aborts:
            if at == step and index < len(requests):
                sequence = simulation.sequences[index]
                request_id = sequence.request.request_id
                if request_id not in aborted | set(simulation.finished):
                    simulation.scheduler.remove(sequence)
                    aborted.add(request_id)
        if not (simulation.scheduler.running or simulation.scheduler.waiting):
            break
        assert simulation.step(), "a step that does nothing"
    assert aborted | set(simulation.finished) == {str(i) for i in range(len(requests))}
    assert simulation.pool.num_free == num_blocks
