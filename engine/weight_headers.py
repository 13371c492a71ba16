"""WeightHeaders: names and shapes of a folder's weights, read without reading the weights.

A safetensors file begins with eight bytes, the length of a JSON object that follows: the name of
each tensor with its `dtype`, `shape` and `data_offsets` in what is behind it (the format's README).
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from engine.errors import ModelRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MAX_HEADER_BYTES: Final = 100_000_000
"""What the safetensors library itself reads."""

MAX_JSON_BYTES: Final = 64 * 2**20
"""Of config.json and of the index of weights; real ones have a few KB, and a few MB."""

_WHOLE_FILE: Final = "model.safetensors"
_INDEX: Final = "model.safetensors.index.json"
_LENGTH: Final = struct.Struct("<Q")
_LIST_ITEM: Final = re.compile(r"(?:^|\.)(\d{1,9})\.")


@dataclass(frozen=True, slots=True)
class WeightHeaders:
    """The tensors of a model.

    Args:
        shapes: tensor name -> its shape.
    """

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def num_values(self) -> int:
        """Numbers in all tensors together."""
        return sum(map(math.prod, self.shapes.values()))

    @property
    def num_layers(self) -> int:
        """Items of the longest list of modules, as `model.layers`, that the names tell of."""
        items: defaultdict[str, set[str]] = defaultdict(set)
        for name in self.shapes:
            if found := _LIST_ITEM.search(name):
                items[name[: found.start(1)]].add(found[1])
        return max(map(len, items.values()), default=0)

    @property
    def largest_size(self) -> int:
        """The largest dimension of any tensor."""
        return max((size for shape in self.shapes.values() for size in shape), default=0)


def read_weight_headers(model_folder: Path) -> WeightHeaders:
    """The headers of the files that transformers will load.

    Raises:
        ModelRefusedError: a file is missing, cut off or not of its format.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for file_name in _weight_files(model_folder):
        try:
            shapes |= _read_shapes(model_folder / file_name)
        except OSError as error:
            raise _refusal(model_folder / file_name, error.strerror or str(error)) from error
    return WeightHeaders(shapes)


def read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        ModelRefusedError: it cannot be read, is too large, or is no JSON object.
    """
    try:
        num_bytes = path.stat().st_size
        if num_bytes > MAX_JSON_BYTES:
            raise _refusal(path, f"{num_bytes} bytes; at most {MAX_JSON_BYTES} are read")
        return _json_object(path, path.read_bytes())
    except OSError as error:
        raise _refusal(path, error.strerror or str(error)) from error


def first_item(name: str) -> str:
    """The name of the same weight in the first item of its list: of layer 0 where it is of 7."""
    return _LIST_ITEM.sub(lambda found: found[0].replace(found[1], "0"), name, count=1)


def _weight_files(model_folder: Path) -> Iterable[str]:
    """As transformers chooses: the whole file before the index of several."""
    if (model_folder / _WHOLE_FILE).is_file():
        return [_WHOLE_FILE]
    index = model_folder / _INDEX
    files = read_json_object(index).get("weight_map")
    if not isinstance(files, dict) or not files:
        raise _refusal(index, "no 'weight_map'")
    for file_name in files.values():
        if not isinstance(file_name, str) or PurePath(file_name).name != file_name:
            raise _refusal(index, f"{file_name!r} is not the name of a file in this folder")
    return dict.fromkeys(files.values())


def _read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    with path.open("rb") as file:
        num_file_bytes = path.stat().st_size
        prefix = file.read(_LENGTH.size)
        if len(prefix) < _LENGTH.size:
            raise _refusal(path, f"cut off: it has {len(prefix)} bytes")
        (num_bytes,) = _LENGTH.unpack(prefix)
        num_left = num_file_bytes - _LENGTH.size
        if num_bytes > min(num_left, MAX_HEADER_BYTES):
            raise _refusal(
                path,
                f"its header claims {num_bytes} bytes of the {num_left} that follow; at most "
                f"{MAX_HEADER_BYTES} are read",
            )
        header = _json_object(path, file.read(num_bytes))
    header.pop("__metadata__", None)
    num_data_bytes = num_left - num_bytes
    return {name: _shape(path, name, entry, num_data_bytes) for name, entry in header.items()}


def _shape(path: Path, name: str, entry: object, num_data_bytes: int) -> tuple[int, ...]:
    match entry:
        case {"shape": [*sizes], "data_offsets": [int(start), int(end)]} if all(
            type(size) is int and size >= 0 for size in sizes
        ):
            pass
        case _:
            raise _refusal(path, f"the header's entry of {name} has no shape and offsets")
    if not 0 <= start <= end <= num_data_bytes:
        raise _refusal(
            path, f"cut off: {name} lies at {start} to {end} of {num_data_bytes} bytes of data"
        )
    # The smallest types have four bits.
    if math.prod(sizes) > 2 * (end - start):
        raise _refusal(path, f"{name} claims the shape {sizes}, but has {end - start} bytes")
    return tuple(sizes)


def _json_object(path: Path, source: bytes) -> dict[str, Any]:
    try:
        value = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise _refusal(path, f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise _refusal(path, "not a JSON object")
    return value


def _refusal(path: Path, reason: str) -> ModelRefusedError:
    return ModelRefusedError(f"{path.parent.name} cannot be loaded: {path.name}: {reason}")
