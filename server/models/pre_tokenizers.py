"""PreTokenizer: the kinds of byte-level BPE tokenizers, which a GGUF file only names.

What a name (`tokenizer.ggml.pre`) stands for is left to the reader, so it is written down here.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """How one kind of byte-level BPE tokenizer cuts text before merging.

    Args:
        split: the entry before ByteLevel in the sequence.
        uses_gpt2_regex: whether ByteLevel itself splits by GPT-2's pattern.
        trim_offsets: as the family's own file says (it does not change the ids).
        normalizer: unicode normalisation before all else.
        has_post_processor: whether the family's file has a ByteLevel post-processor (offsets only).
        not_special: added tokens that decoding keeps although the GGUF calls them control tokens.
        ignore_merges: a whole word of the vocabulary is taken as it is, whatever the merges say.
        adds_bos: whether `tokenizer.ggml.add_bos_token` is taken as true where the file lacks it.
    """

    split: Mapping[str, object] | None
    uses_gpt2_regex: bool
    trim_offsets: bool
    normalizer: Mapping[str, object] | None = None
    has_post_processor: bool = False
    not_special: frozenset[str] = frozenset()
    ignore_merges: bool = False
    adds_bos: bool = False

    @property
    def byte_level(self) -> dict[str, object]:
        """The ByteLevel entry, as pre-tokenizer and as post-processor."""
        return {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": self.trim_offsets,
            "use_regex": self.uses_gpt2_regex,
        }


def _split_by(pattern: str) -> Mapping[str, object]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


_WORDS_AND_DIGITS: Final = (  # GPT-4's split (cl100k); families differ in the runs of digits
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

PRE_TOKENIZERS: Final[Mapping[str, PreTokenizer]] = MappingProxyType(
    {
        "gpt-2": PreTokenizer(split=None, uses_gpt2_regex=True, trim_offsets=True),
        "smollm": PreTokenizer(
            split={"type": "Digits", "individual_digits": True},
            uses_gpt2_regex=True,
            trim_offsets=True,
        ),
        "qwen2": PreTokenizer(
            split=_split_by(_WORDS_AND_DIGITS.format(digits=r"\p{N}")),
            uses_gpt2_regex=False,
            trim_offsets=False,
            normalizer={"type": "NFC"},
            has_post_processor=True,
            not_special=frozenset(
                {
                    "<|fim_prefix|>",
                    "<|fim_middle|>",
                    "<|fim_suffix|>",
                    "<|fim_pad|>",
                    "<|repo_name|>",
                    "<|file_sep|>",
                }
            ),
        ),
        "llama-bpe": PreTokenizer(
            split=_split_by(_WORDS_AND_DIGITS.format(digits=r"\p{N}{1,3}")),
            uses_gpt2_regex=False,
            trim_offsets=True,
            ignore_merges=True,
            adds_bos=True,
        ),
    }
)
