"""Steps that the device takes alone give the tokens that steps of the host give."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from engine.config import EngineConfig
from engine.load import build_engine
from engine.output import FinishReason
from engine.request import Request, SamplingParams
from grammars.compile import compile_grammar
from grammars.device_tables import DeviceBudget
from grammars.spec import Choice, JsonSchema, Regex, TextSpec
from tests.engine.support import Forcing, greedy, prompt, run_all, tiny_model
from tests.support.tokenizers import tiny_vocabulary

VOCABULARY = tiny_vocabulary()
SIZE = VOCABULARY.padded_size
GRAMMARS: dict[str, TextSpec] = {
    "array": JsonSchema('{"type": "array", "items": {"enum": ["a", 12, null]}, "maxItems": 3}'),
    "choice": Choice(("abc", "ab", "c")),
    "pattern": Regex("[a-f]{3,9}"),
}


@pytest.fixture(scope="module")
def compiled():
    grammars = {name: compile_grammar(spec, VOCABULARY) for name, spec in GRAMMARS.items()}
    return {name: (g, g.device_tables(DeviceBudget())) for name, g in grammars.items()}


def make_engine(model_type="llama", **options):
    model = tiny_model(model_type, vocab_size=SIZE, eos_token_id=VOCABULARY.end_token_ids[0])
    defaults = {"max_num_seqs": 8, "max_num_batched_tokens": 64}
    return build_engine(model, EngineConfig(**(defaults | options)), name="tiny")


def requests(compiled, parameters):
    """One free request, and one for each grammar, all with the parameters."""
    free = Request("free", prompt(5), SamplingParams(**(parameters | {"ignore_eos": True})))
    return [
        free,
        *(
            Request(
                name,
                prompt(7 + index),
                SamplingParams(**parameters),
                grammar.matcher(),
                automaton=tables,
            )
            for index, (name, (grammar, tables)) in enumerate(compiled.items())
        ),
    ]


PARAMETERS = {
    "greedy": {"temperature": 0.0},
    "drawn": {"temperature": 1.3, "seed": 5},
    "drawn above min_p": {"temperature": 2.0, "seed": 6, "min_p": 0.01},
}


@pytest.mark.parametrize("forced_text", [False, True])
@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS.keys())
@pytest.mark.parametrize("max_burst_steps", [3, 32])
def test_a_burst_changes_no_token(parameters, max_burst_steps, forced_text, compiled):
    parameters = parameters | {"max_tokens": 40}
    plain = make_engine(forced_text=forced_text)
    expected = run_all(plain, requests(compiled, parameters))
    engine = make_engine(forced_text=forced_text, max_burst_steps=max_burst_steps)
    assert run_all(engine, requests(compiled, parameters)) == expected
    assert expected["choice"].finish_reason is FinishReason.STOP
    counters = engine.stats().counters
    assert counters.bursts > 0
    assert (counters.draft_tokens, counters.rejected_tokens) == (0, 0)
    assert engine.stats().num_free_blocks == engine.config.num_blocks


def test_a_sequence_moves_between_the_device_and_the_host(compiled):
    """A newcomer whose parameters need the host takes all along; later they are alone again."""
    parameters = {"temperature": 1.0, "seed": 3, "max_tokens": 40}

    def run(engine):
        wanted = requests(compiled, parameters)
        finished: dict[str, list[int]] = {}
        guest: Request | None = Request("guest", prompt(4), greedy(6, top_k=3))
        for request in wanted:
            engine.add_request(request)
        num_outputs = 0
        while engine.has_unfinished:
            for output in engine.step():
                finished.setdefault(output.request_id, []).extend(output.token_ids)
                num_outputs += output.request_id == "free"
                if guest is not None and len(finished.get("free", ())) >= 8:
                    engine.add_request(guest)
                    guest = None
        return finished

    engine = make_engine(max_burst_steps=4)
    finished = run(engine)
    alone = run_all(make_engine(), requests(compiled, parameters))
    for name, of_alone in alone.items():
        assert finished[name] == of_alone.token_ids
    assert len(finished["guest"]) == 6
    assert engine.stats().counters.bursts >= 2


@pytest.mark.parametrize(
    "options",
    [
        {"top_k": 2},
        {"top_p": 0.5},
        {"num_logprobs": 1},
        {"presence_penalty": 0.5},
        {"logit_bias": {7: 1.0}},
        {"bad_words": ((9,),)},
        {"min_tokens": 12, "ignore_eos": False},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_needs_the_host_is_left_to_it(options):
    engine = make_engine(max_burst_steps=4)
    expected = run_all(make_engine(), [Request("only", prompt(6), greedy(12, **options))])
    assert run_all(engine, [Request("only", prompt(6), greedy(12, **options))]) == expected
    assert engine.stats().counters.bursts == 0


def test_a_constraint_without_tables_is_left_to_the_host():
    engine = make_engine(max_burst_steps=4)
    constraint = Forcing([{5}, {6, 7}, {8}, range(3, 90), range(3, 90)])
    finished = run_all(engine, [Request("only", prompt(6), greedy(12), constraint)])["only"]
    assert len(finished.token_ids) == 5
    assert engine.stats().counters.bursts == 0


def test_a_sequence_that_breaks_inside_a_burst_fails_alone(compiled):
    engine = make_engine(max_burst_steps=6)
    graphs = engine._bursts._graphs
    right = graphs.run

    def broken(rows):
        burst = right(rows)
        is_usable = burst.is_usable.clone()
        if len(rows) == 3:
            is_usable[2, 1] = False
        return replace(burst, is_usable=is_usable)

    graphs.run = broken
    finished = run_all(engine, [Request(str(i), prompt(5 + i), greedy(20)) for i in range(3)])
    assert [finished[str(i)].error for i in range(3)] == [
        None,
        "the model gave no finite logit to choose from",
        None,
    ]
    assert len(finished["0"].token_ids) == 20


def test_after_a_failed_burst_there_are_only_single_steps(monkeypatch):
    engine = make_engine(max_burst_steps=6)
    tries = []
    expected = run_all(make_engine(), [Request("only", prompt(6), greedy(12))])

    def failing(rows):
        tries.append(len(rows))
        raise RuntimeError("out of memory")

    monkeypatch.setattr(engine._bursts._graphs, "run", failing)
    assert run_all(engine, [Request("only", prompt(6), greedy(12))]) == expected
    assert tries == [1]


def test_tables_that_lose_a_text_leave_it_to_single_steps(compiled):
    class Lost:
        """The tables of an array, without any way on."""

        def __init__(self, tables):
            self._tables = tables

        def __getattr__(self, name):
            return getattr(self._tables, name)

        def next_state(self, _state, _token_id):
            raise KeyError("no such state")

    grammar, tables = compiled["array"]
    sampling = greedy(20, ignore_eos=False)

    def request(automaton):
        return Request("only", prompt(7), sampling, grammar.matcher(), automaton=automaton)

    expected = run_all(make_engine(), [request(None)])
    assert run_all(make_engine(max_burst_steps=4), [request(Lost(tables))]) == expected


@pytest.mark.gpu
@pytest.mark.parametrize("model_type", ["llama", "gemma2", "gpt_oss"])
def test_captured_steps_give_the_tokens_of_single_steps(model_type, compiled):
    def on_device(**options):
        model = tiny_model(model_type, vocab_size=SIZE, eos_token_id=VOCABULARY.end_token_ids[0])
        model.to(torch.device("cuda"))  # type: ignore[arg-type]  # wrapped without its types
        config = EngineConfig(
            device="cuda", dtype="float32", max_num_seqs=8, kv_cache_bytes=2**24, **options
        )
        return build_engine(model, config, name="tiny")

    parameters = {"temperature": 0.0, "max_tokens": 40}
    expected = run_all(on_device(), requests(compiled, parameters))
    engine = on_device(max_burst_steps=8)
    assert run_all(engine, requests(compiled, parameters)) == expected
    # Experts are chosen through the host in some versions of transformers: no capture then.
    assert engine.stats().counters.bursts > 0 or model_type == "gpt_oss"


def test_where_blocks_run_out_single_steps_go_on():
    options = {"num_blocks": 9, "block_size": 4, "max_num_seqs": 4, "prefix_cache": False}
    several = [Request(str(i), prompt(6, i), greedy(16)) for i in range(3)]
    expected = run_all(make_engine(**options), several)
    engine = make_engine(**options, max_burst_steps=8)
    assert run_all(engine, several) == expected
    assert engine.stats().num_free_blocks == 9
