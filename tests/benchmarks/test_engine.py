"""The engine benchmark runs the same prompts every way, and tells ratios."""

from __future__ import annotations

import json

from benchmarks.engine import main


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
    assert "constrained over free" in capsys.readouterr().out
