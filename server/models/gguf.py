"""GgufFile: the header of a GGUF file (version 2 or 3, little endian), and its tensors.

Layout (the GGUF specification of the ggml project): magic, version, tensor count, key count, the
key-value pairs, the tensor infos, padding up to the alignment, the tensor data. The header is read
here with `struct` because the gguf package's reader makes a numpy view for every string of the
vocabulary (seconds); the quantised blocks are decoded by the gguf package.
"""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from server.models.errors import InvalidModelFileError, UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

MetadataValue: TypeAlias = "int | float | bool | str | list[int | float | bool | str]"

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_DEFAULT_ALIGNMENT: Final = 32
_MAX_DIMENSIONS: Final = 8
_VALUES_AT_ONCE: Final = 2**21
_SCALARS: Final = MappingProxyType(  # value type number -> struct format
    {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
)
_STRING: Final = 8
_ARRAY: Final = 9


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where a tensor lies.

    Args:
        name: as the file spells it, like `blk.0.attn_q.weight`.
        shape: row-major, the innermost dimension last (the file stores it the other way round).
        quantization: number of its ggml type.
        offset: in bytes, from the start of the file.
        num_bytes: stored size.
    """

    name: str
    shape: tuple[int, ...]
    quantization: int
    offset: int
    num_bytes: int


class GgufFile:
    """An open GGUF file; the tensors stay on disk until asked for.

    Args:
        path: the file.

    Raises:
        InvalidModelFileError: it is not GGUF, is cut off, or says things that cannot be.
        UnsupportedModelError: its version or a quantisation is unknown to us.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:  # mmap refuses an empty file
            raise InvalidModelFileError(path, "the file is empty") from error
        cursor = _Cursor(self._data, path)
        if cursor.take(4) != _MAGIC:
            raise InvalidModelFileError(path, "not a GGUF file")
        version = cursor.scalar("I")
        if version not in _VERSIONS:
            raise UnsupportedModelError(f"GGUF version {version}", "2 and 3 are read")
        num_tensors, num_keys = int(cursor.scalar("Q")), int(cursor.scalar("Q"))
        self.metadata: Mapping[str, MetadataValue] = MappingProxyType(
            {cursor.string(): cursor.value() for _ in range(num_keys)}
        )
        self.tensors: Mapping[str, TensorInfo] = MappingProxyType(
            self._read_tensor_infos(cursor, num_tensors)
        )

    def tensor(self, name: str) -> NDArray[np.float32]:
        """The dequantised tensor: float32, `tensors[name].shape`, a fresh array.

        Raises:
            UnsupportedModelError: the gguf package cannot decode its quantisation.
        """
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize

        info = self.tensors[name]
        kind = GGMLQuantizationType(info.quantization)
        values = np.empty(info.shape, np.float32)
        rows = values.reshape(-1, info.shape[-1])
        stored = np.frombuffer(self._data, np.uint8, info.num_bytes, info.offset)
        stored = stored.reshape(len(rows), -1)
        step = max(1, _VALUES_AT_ONCE // info.shape[-1])
        try:
            for start in range(0, len(rows), step):  # decoding needs several times its result
                rows[start : start + step] = dequantize(stored[start : start + step], kind)
        except NotImplementedError as error:
            raise UnsupportedModelError(
                f"quantisation {kind.name} of {name}", "this release of gguf cannot decode it"
            ) from error
        return values

    def _read_tensor_infos(self, cursor: _Cursor, count: int) -> dict[str, TensorInfo]:
        read = [self._read_tensor_info(cursor) for _ in range(count)]
        alignment = self.metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise InvalidModelFileError(self.path, f"impossible alignment {alignment!r}")
        start = -(-cursor.position // alignment) * alignment
        infos: dict[str, TensorInfo] = {}
        for name, shape, quantization, offset in read:
            num_bytes = _stored_bytes(self.path, name, shape, quantization)
            if start + offset + num_bytes > len(self._data):
                raise InvalidModelFileError(
                    self.path, f"cut off: tensor {name} ends past the file's end"
                )
            infos[name] = TensorInfo(name, shape, quantization, start + offset, num_bytes)
        # A file of one matrix under a million names would be converted to petabytes.
        for one, next_one in pairwise(sorted(infos.values(), key=lambda info: info.offset)):
            if one.offset + one.num_bytes > next_one.offset:
                raise InvalidModelFileError(
                    self.path, f"tensors {one.name} and {next_one.name} overlap"
                )
        return infos

    def _read_tensor_info(self, cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
        name = cursor.string()
        num_dimensions = int(cursor.scalar("I"))
        if not 1 <= num_dimensions <= _MAX_DIMENSIONS:
            raise InvalidModelFileError(self.path, f"tensor {name} has {num_dimensions} dimensions")
        shape = tuple(int(cursor.scalar("Q")) for _ in range(num_dimensions))[::-1]
        if 0 in shape:
            raise InvalidModelFileError(self.path, f"tensor {name} is empty")
        return name, shape, int(cursor.scalar("I")), int(cursor.scalar("Q"))


class _Cursor:
    """A reading position that refuses to pass the end."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data = data
        self._path = path
        self.position = 0

    def take(self, num_bytes: int) -> bytes:
        end = self.position + num_bytes
        if end > len(self._data):
            raise InvalidModelFileError(self._path, "cut off inside its header")
        taken = self._data[self.position : end]
        self.position = end
        return taken

    def scalar(self, kind: str) -> int | float | bool:
        value: int | float | bool = struct.unpack(
            f"<{kind}", self.take(struct.calcsize(f"<{kind}"))
        )[0]
        return value

    def string(self) -> str:
        raw = self.take(int(self.scalar("Q")))
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise InvalidModelFileError(self._path, f"{raw[:40]!r} is not UTF-8") from error

    def value(self) -> MetadataValue:
        kind = int(self.scalar("I"))
        if kind == _ARRAY:
            element, count = int(self.scalar("I")), int(self.scalar("Q"))
            return self._array(element, count)
        return self._single(kind)

    def _array(self, kind: int, count: int) -> list[int | float | bool | str]:
        if kind in _SCALARS:
            code = _SCALARS[kind]
            size = struct.calcsize(f"<{code}")
            return list(struct.unpack(f"<{count}{code}", self.take(count * size)))
        return [self._single(kind) for _ in range(count)]

    def _single(self, kind: int) -> int | float | bool | str:
        if kind == _STRING:
            return self.string()
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        raise InvalidModelFileError(self._path, f"unknown metadata type {kind}")


def _stored_bytes(path: Path, name: str, shape: tuple[int, ...], quantization: int) -> int:
    """Bytes that a tensor takes in the file."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        kind = GGMLQuantizationType(quantization)
    except ValueError as error:
        raise UnsupportedModelError(f"quantisation {quantization} of {name}", "unknown") from error
    values_per_block, bytes_per_block = GGML_QUANT_SIZES[kind]
    if shape[-1] % values_per_block:
        raise InvalidModelFileError(
            path, f"tensor {name}: rows of {shape[-1]} values cannot be {kind.name} blocks"
        )
    return math.prod(shape) // values_per_block * bytes_per_block
