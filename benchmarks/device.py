"""`tightrope bench device`: what constraints add to a decode step, and what the step costs.

With `--tokenizer FILE` it needs torch, transformers, numba and triton alone, so it also runs as
`python -m benchmarks.device` where nothing of the server is installed. Without a CUDA device the
CPU part runs.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch

from benchmarks.bar_chart import bar_chart
from benchmarks.device_steps import METHODS, STEPS_IN_GRAPH, make_parts
from benchmarks.flags import add_count, add_output_flag, add_tokenizer_flags, positive
from benchmarks.machine import describe_run
from benchmarks.report import write_json
from benchmarks.tokenizer_source import TokenizerSourceError, from_file
from grammars.errors import GrammarError
from grammars.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.device_decode import DecodeTime
    from benchmarks.device_steps import Parts
    from benchmarks.tokenizer_source import TokenizerSource


_WHOLE: Final = "step"
_WARM_UP_STEPS: Final = 40
"""Longer than the document, so that each sequence has met every mask."""


@dataclass(frozen=True, slots=True)
class MaskTime:
    """One cell: mask, advance, copies and the wait for the device, of a whole batch.

    Args:
        method: one of METHODS.
        vocab_size: rows of the model's head.
        batch_size: sequences.
        step_us: median over the steps; None where there is a refusal.
        parts_us: medians of its parts, see `make_parts`; `wait` is for the device.
        refusal: why the method cannot do it.
    """

    method: str
    vocab_size: int
    batch_size: int
    step_us: float | None = None
    parts_us: Mapping[str, float] = field(default_factory=dict)
    refusal: str | None = None


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and write device.json and device.svg where a folder is given.

    Returns:
        0, or 2 where the tokenizer cannot be used.
    """
    options = _parser().parse_args(arguments)
    if options.quick:
        options.batch_sizes, options.vocab_sizes, options.steps = [1, 8], [49_152], 10
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        source = _read_tokenizer(options)
    except TokenizerSourceError as error:
        print(f"tightrope bench device: {error}")
        return 2
    cells = [
        _measure(method, _widened(source, vocab_size), batch_size, options.steps, device)
        for vocab_size in options.vocab_sizes
        for batch_size in options.batch_sizes
        for method in options.methods
    ]
    decode: list[DecodeTime] = []
    if device.type == "cuda":
        from benchmarks.device_decode import measure_decode  # its kernels need triton

        decode = measure_decode(options.batch_sizes)
    note = (
        "Wall time, the device's work waited for."
        if device.type == "cuda"
        else "No CUDA device: the CPU part ran. CPU time of the process; no decode step was "
        "measured, there is no copy, and 'resident' advances by its plain torch reference."
    )
    report = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "note": note,
        "masks": [asdict(cell) for cell in cells],
        "decode": [asdict(entry) for entry in decode],
    }
    _print(cells, decode, note)
    if options.output is not None:
        run = describe_run("bench device", arguments)
        write_json(options.output / "device.json", run, report)
        (options.output / "device.svg").write_text(_chart(cells))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tightrope bench device", description=__doc__)
    add_tokenizer_flags(parser, "smollm2-135m", has_padded_size=False)
    parser.add_argument(
        "--batch-sizes",
        type=positive,
        nargs="+",
        default=[1, 8, 64, 256],
        metavar="N",
        help="(default: 1 8 64 256)",
    )
    parser.add_argument(
        "--vocab-sizes",
        type=positive,
        nargs="+",
        default=[49_152, 128_256, 151_936],
        metavar="N",
        help="rows of the model's output, padded beyond the tokenizer's "
        "(default: 49152 128256 151936)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=list(METHODS),
        metavar="NAME",
        help=f"of {', '.join(METHODS)} (default: all)",
    )
    add_count(parser, "--steps", 100, "timed steps per method and size")
    parser.add_argument("--quick", action="store_true", help="two small batches, one vocabulary")
    add_output_flag(parser, "device.json", "device.svg")
    return parser


def _read_tokenizer(options: argparse.Namespace) -> TokenizerSource:
    path = Path(options.tokenizer)
    if path.suffix in (".json", ".gz"):
        return from_file(path, padded_size=None, end_token=options.end_token)
    from benchmarks.model_tokenizer import from_model  # needs the server's dependencies
    from server.models.errors import ModelError

    try:
        return from_model(options.tokenizer)
    except ModelError as error:
        raise TokenizerSourceError(str(error)) from error


def _widened(source: TokenizerSource, vocab_size: int) -> Vocabulary | None:
    """The tokenizer in a model with so many rows; None where it has more tokens."""
    if source.padded_size > vocab_size:
        return None
    return Vocabulary(
        source.tokenizer_json, padded_size=vocab_size, end_token_ids=source.end_token_ids
    )


def _measure(
    method: str,
    vocabulary: Vocabulary | None,
    batch_size: int,
    num_steps: int,
    device: torch.device,
) -> MaskTime:
    if vocabulary is None:
        return MaskTime(method, 0, batch_size, refusal="the tokenizer has more tokens")
    size = vocabulary.padded_size
    logits = torch.zeros((batch_size, size), device=device)
    try:
        parts = make_parts(method, vocabulary, logits)
    except (GrammarError, ImportError) as error:
        return MaskTime(method, size, batch_size, refusal=str(error))
    parts_us = _parts_us(parts, num_steps, device)
    return MaskTime(method, size, batch_size, parts_us.pop(_WHOLE), parts_us)


def _parts_us(parts: Parts, num_steps: int, device: torch.device) -> dict[str, float]:
    """Microseconds of a whole step and of its parts, after steps in which every mask is met."""
    steps_a_call = STEPS_IN_GRAPH if "replay" in parts else 1
    on_device = device.type == "cuda"
    clock = time.perf_counter if on_device else time.process_time
    if on_device:
        parts = {**parts, "wait": torch.cuda.synchronize}
    times: dict[str, list[float]] = {name: [] for name in (*parts, _WHOLE)}
    gc.collect()
    gc.disable()
    try:
        for index in range(_WARM_UP_STEPS + num_steps):
            if index == _WARM_UP_STEPS:
                for of_part in times.values():
                    of_part.clear()
            began = before = clock()
            for name, part in parts.items():
                part()
                now = clock()
                times[name].append(now - before)
                before = now
            times[_WHOLE].append(before - began)
    finally:
        gc.enable()
    return {
        name: 1e6 * sorted(of_part)[num_steps // 2] / steps_a_call
        for name, of_part in times.items()
    }


def _print(cells: Sequence[MaskTime], decode: Sequence[DecodeTime], note: str) -> None:
    step_us = {entry.batch_size: entry.step_us for entry in decode}
    print(note)
    headings = ("vocabulary", "batch", "method", "µs a step", "of a decode step", "parts, µs")
    print("{:>10} {:>5}  {:<17} {:>10} {:>17}  {}".format(*headings))
    for cell in cells:
        time_text = "-" if cell.step_us is None else f"{cell.step_us:,.1f}"
        parts = ", ".join(f"{name} {time_us:,.1f}" for name, time_us in cell.parts_us.items())
        whole = step_us.get(cell.batch_size)
        share = f"{100 * cell.step_us / whole:.1f} %" if cell.step_us and whole else "-"
        print(
            f"{cell.vocab_size:>10} {cell.batch_size:>5}  {cell.method:<17} {time_text:>10} "
            f"{share:>17}  {cell.refusal or parts}"
        )
    for entry in decode:
        print(
            f"decode step, batch {entry.batch_size}: {entry.step_us:,.0f} µs in a burst, "
            f"{entry.step_us / entry.floor_us:.2f} times weights over bandwidth; by the host "
            f"{entry.graph_us:,.0f} µs as a graph, {entry.launched_us:,.0f} µs kernel by kernel"
        )


def _chart(cells: Sequence[MaskTime]) -> str:
    groups: dict[str, dict[str, float]] = {}
    for cell in cells:
        if cell.step_us is not None:
            name = f"{cell.vocab_size:,} tokens, batch {cell.batch_size}"
            groups.setdefault(name, {})[cell.method] = cell.step_us
    return bar_chart("Masks of one step, microseconds (log scale)", groups)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
