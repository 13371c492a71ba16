"""The engine benchmark runs the same prompts every way, and tells ratios."""

from __future__ import annotations

import json

from benchmarks.engine import main
from benchmarks.engine_bars import (
    FORCED_OVER_FREE,
    PASSES_PER_TOKEN,
    PLAIN_OVER_FREE,
    documents_over,
    judge,
)


def test_every_way_is_run_and_the_ratios_are_written(tiny_folder, tmp_path, capsys):
    arguments = [
        "--model",
        str(tiny_folder),
        "--batch",
        "2",
        "--max-tokens",
        "40",
        "--repeats",
        "1",
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
        passes = report["ratios"][name]["forward passes over tokens, with forced text"]
        assert 0 < passes <= 1
    told = capsys.readouterr().out
    assert "constrained over free" in told
    assert [bar["verdict"] for bar in report["bars"]].count("not measured") <= 2
    assert all(bar["ratio"] in told for bar in report["bars"])
    assert (tmp_path / "engine.svg").read_text().startswith("<svg")


def test_a_bar_is_reached_or_missed_or_was_not_measured():
    ratios = {
        "documents": {PLAIN_OVER_FREE: 0.97},
        "tool calls": {PLAIN_OVER_FREE: 0.969, FORCED_OVER_FREE: 1.5, PASSES_PER_TOKEN: 0.71},
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
