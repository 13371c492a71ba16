"""The engine benchmark runs the same prompts every way, and tells ratios."""

from __future__ import annotations

import json

from benchmarks.engine import main
from benchmarks.engine_bars import judge
from benchmarks.engine_ratios import (
    FORCED_OVER_FREE,
    PASSES_PER_TOKEN,
    PLAIN_OVER_FREE,
    Ratio,
    documents_over,
    ratios_of,
)
from benchmarks.engine_runs import Run


def test_every_way_is_run_and_the_ratios_are_written(tiny_folder, tmp_path, capsys):
    arguments = [
        "--model",
        str(tiny_folder),
        "--batch",
        "2",
        "--max-tokens",
        "40",
        "--rounds",
        "2",
    ]
    peers = ["--peers", "xgrammar", "xgrammar's own", "llguidance"]
    assert main([*arguments, *peers, "--output", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "engine.json").read_text())
    ways = {
        "constrained, no forced text", "free", "constrained", "transformers + xgrammar",
        "transformers + xgrammar's own", "transformers + llguidance",
    }  # fmt: skip
    assert report["not_measured"] == {}
    for name in ("documents", "tool calls"):
        runs = {run["way"]: run for run in report["results"][name]}
        assert set(runs) == ways
        assert runs["free"]["num_tokens"] == runs["constrained, no forced text"]["num_tokens"]
        assert min(run["cpu_s"] for run in runs.values()) > 0
        passes_of = {way: run["num_forward_passes"] for way, run in runs.items()}
        assert passes_of["free"] == passes_of["constrained, no forced text"]
        assert all(len(run["cpu_s_of_rounds"]) == 2 for run in runs.values())
        passes = report["ratios"][name]["forward passes over tokens, with forced text"]
        assert 0 < passes["least"] == passes["median"] == passes["most"] <= 1
    told = capsys.readouterr().out
    assert "constrained over free" in told
    assert [bar["verdict"] for bar in report["bars"]].count("not measured") <= 2
    assert all(bar["ratio"] in told for bar in report["bars"])
    assert (tmp_path / "engine.svg").read_text().startswith("<svg")


def test_ratios_are_those_within_a_round_and_the_middle_one_counts():
    def a_round(plain_s: float, free_s: float) -> dict[str, Run]:
        runs = [
            Run("constrained, no forced text", cpu_s=plain_s, num_tokens=100),
            Run("free", cpu_s=free_s, num_tokens=100),
            Run("constrained", cpu_s=plain_s / 2, num_tokens=100, num_forward_passes=40),
        ]
        return {run.way: run for run in runs}

    # The second round was slow for everybody.
    ratios = ratios_of([a_round(10, 10), a_round(40, 36), a_round(10, 8)])
    assert ratios[PLAIN_OVER_FREE] == Ratio(median=0.9, least=0.8, most=1.0)
    assert ratios[FORCED_OVER_FREE] == Ratio(median=1.8, least=1.6, most=2.0)
    assert str(ratios[PASSES_PER_TOKEN]) == "0.400 (0.400 to 0.400)"


def test_a_bar_is_reached_or_missed_or_was_not_measured():
    def ratio(median: float) -> Ratio:
        return Ratio(median, least=0.0, most=9.0)

    ratios = {
        "documents": {PLAIN_OVER_FREE: ratio(0.97)},
        "tool calls": {
            PLAIN_OVER_FREE: ratio(0.969),
            FORCED_OVER_FREE: ratio(1.5),
            PASSES_PER_TOKEN: ratio(0.71),
        },
    }
    verdicts = {(j.bar.work, j.bar.ratio): j.verdict for j in judge(ratios)}
    assert verdicts == {
        ("documents", PLAIN_OVER_FREE): "holds",
        ("tool calls", PLAIN_OVER_FREE): "MISSED",
        ("tool calls", FORCED_OVER_FREE): "holds",
        ("tool calls", PASSES_PER_TOKEN): "MISSED",
        ("documents", documents_over("transformers + xgrammar's own")): "not measured",
        ("tool calls", documents_over("transformers + xgrammar's own")): "not measured",
    }
