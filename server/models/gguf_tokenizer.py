"""GgufTokenizer: the tokenizer inside a GGUF file, rebuilt as Hugging Face tokenizer files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from server.models.errors import InvalidModelFileError, UnsupportedModelError
from server.models.pre_tokenizers import PRE_TOKENIZERS, PreTokenizer

if TYPE_CHECKING:
    from server.models.gguf import GgufFile


class TokenType(IntEnum):
    """`tokenizer.ggml.token_type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5  # rows of the embedding matrix that no token has
    BYTE = 6


END_TOKENS: Final = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "</s>")
"""Control tokens that end a turn or a text. A GGUF names one of them; the model may write any."""


@dataclass(frozen=True, slots=True)
class GgufTokenizer:
    """What a GGUF file says about its tokenizer.

    Args:
        tokens: one per row of the embedding matrix, in the byte-level alphabet.
        token_types: one per token.
        merges: "left right", the strongest first.
        pre_tokenizer: how text is cut.
        bos_token_id: begin of text, if the file names one.
        eos_token_id: the end token that the file names.
        pad_token_id: padding, if the file names one.
        adds_bos: whether plain text is encoded with bos_token_id in front.
        chat_template: Jinja, if the file has one.
    """

    tokens: tuple[str, ...]
    token_types: tuple[TokenType, ...]
    merges: tuple[str, ...]
    pre_tokenizer: PreTokenizer
    bos_token_id: int | None
    eos_token_id: int
    pad_token_id: int | None
    adds_bos: bool
    chat_template: str | None

    @classmethod
    def from_gguf(cls, gguf: GgufFile) -> GgufTokenizer:
        """Read the tokenizer's keys.

        Raises:
            UnsupportedModelError: the kind of tokenizer or pre-tokenizer is not one of ours, or
                an end token would be added behind every text.
            InvalidModelFileError: a list is missing, or an id is outside the vocabulary.
        """
        keys = _TokenizerKeys(gguf)
        if (kind := keys.text("ggml.model")) != "gpt2":
            raise UnsupportedModelError(
                f"GGUF tokenizer {kind!r}",
                "'gpt2' (byte-level BPE) is rebuilt; use the model's safetensors folder instead",
            )
        if (pre := keys.text("ggml.pre")) not in PRE_TOKENIZERS:
            raise UnsupportedModelError(
                f"GGUF pre-tokenizer {pre!r}", f"{', '.join(PRE_TOKENIZERS)} are rebuilt"
            )
        if keys.flag("ggml.add_eos_token", default=False):
            raise UnsupportedModelError("GGUF key 'tokenizer.ggml.add_eos_token'", "must be false")
        pre_tokenizer = PRE_TOKENIZERS[pre]
        tokens = keys.texts("ggml.tokens")
        eos_token_id = keys.token_id("ggml.eos_token_id", len(tokens))
        if eos_token_id is None:
            raise InvalidModelFileError(gguf.path, "no key 'tokenizer.ggml.eos_token_id'")
        return cls(
            tokens=tokens,
            token_types=keys.token_types(len(tokens)),
            merges=keys.texts("ggml.merges"),
            pre_tokenizer=pre_tokenizer,
            bos_token_id=keys.token_id("ggml.bos_token_id", len(tokens)),
            eos_token_id=eos_token_id,
            pad_token_id=keys.token_id("ggml.padding_token_id", len(tokens)),
            adds_bos=keys.flag("ggml.add_bos_token", default=pre_tokenizer.adds_bos),
            chat_template=keys.text("chat_template", default="") or None,
        )

    @property
    def eos_token_ids(self) -> list[int]:
        """Every id that ends a text: the named one first, then the family's other end tokens."""
        others = [
            token_id
            for token_id, (token, kind) in enumerate(
                zip(self.tokens, self.token_types, strict=True)
            )
            if kind is TokenType.CONTROL and token in END_TOKENS and token_id != self.eos_token_id
        ]
        return [self.eos_token_id, *others]

    def tokenizer_json(self) -> dict[str, object]:
        """The content of tokenizer.json, keys in the order that the tokenizers library writes."""
        pre = self.pre_tokenizer
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": self._added_tokens(),
            "normalizer": pre.normalizer,
            "pre_tokenizer": pre.byte_level
            if pre.split is None
            else {"type": "Sequence", "pretokenizers": [pre.split, pre.byte_level]},
            "post_processor": self._post_processor(),
            "decoder": {**pre.byte_level, "add_prefix_space": pre.trim_offsets},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": pre.ignore_merges,
                "vocab": self._vocab(),
                "merges": list(self.merges),
            },
        }

    def tokenizer_config(self, *, model_max_length: int) -> dict[str, object]:
        """The content of tokenizer_config.json."""
        config: dict[str, object] = {
            # Not the family's own class: transformers would rebuild the pre-tokenizer from it.
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": self._token(self.bos_token_id),
            "eos_token": self._token(self.eos_token_id),
            "pad_token": self._token(self.pad_token_id),
            "clean_up_tokenization_spaces": False,
            "model_max_length": model_max_length,
        }
        if self.chat_template is not None:
            config["chat_template"] = self.chat_template
        return config

    def _post_processor(self) -> dict[str, object] | None:
        if self.adds_bos and self.bos_token_id is not None:
            bos = self.tokens[self.bos_token_id]
            text = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
            begin = {"SpecialToken": {"id": bos, "type_id": 0}}
            return {
                "type": "TemplateProcessing",
                "single": [begin, text[0]],
                "pair": [begin, text[0], begin, text[1]],
                "special_tokens": {
                    bos: {"id": bos, "ids": [self.bos_token_id], "tokens": [bos]},
                },
            }
        return self.pre_tokenizer.byte_level if self.pre_tokenizer.has_post_processor else None

    def _token(self, token_id: int | None) -> str | None:
        return None if token_id is None else self.tokens[token_id]

    def _vocab(self) -> dict[str, int]:
        """Ordinary tokens, and control tokens that stand among them rather than behind them."""
        num_ordinary = max(
            (i + 1 for i, kind in enumerate(self.token_types) if kind is TokenType.NORMAL),
            default=0,
        )
        return {
            token: token_id
            for token_id, token in enumerate(self.tokens[:num_ordinary])
            if self.token_types[token_id] is not TokenType.UNUSED
        }

    def _added_tokens(self) -> list[dict[str, object]]:
        return [
            {
                "id": token_id,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": kind is TokenType.CONTROL
                and token not in self.pre_tokenizer.not_special,
            }
            for token_id, (token, kind) in enumerate(
                zip(self.tokens, self.token_types, strict=True)
            )
            if kind in (TokenType.CONTROL, TokenType.USER_DEFINED)
        ]


class _TokenizerKeys:
    """Typed access to `tokenizer.*`."""

    def __init__(self, gguf: GgufFile) -> None:
        self._gguf = gguf

    def text(self, key: str, *, default: str | None = None) -> str:
        value = self._gguf.metadata.get(f"tokenizer.{key}", default)
        if not isinstance(value, str):
            raise self._bad(key, "a text")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._gguf.metadata.get(f"tokenizer.{key}", default)
        if not isinstance(value, bool):
            raise self._bad(key, "true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._gguf.metadata.get(f"tokenizer.{key}")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._bad(key, "a list of texts")
        return tuple(str(item) for item in value)

    def token_types(self, num_tokens: int) -> tuple[TokenType, ...]:
        value = self._gguf.metadata.get("tokenizer.ggml.token_type")
        if not isinstance(value, list) or len(value) != num_tokens:
            raise self._bad("ggml.token_type", "a list as long as the tokens")
        try:
            return tuple(TokenType(int(kind)) for kind in value)
        except ValueError as error:
            raise self._bad("ggml.token_type", "a list of types 1 to 6") from error

    def token_id(self, key: str, num_tokens: int) -> int | None:
        value = self._gguf.metadata.get(f"tokenizer.{key}")
        if value is not None and (type(value) is not int or not 0 <= value < num_tokens):
            raise self._bad(key, "the id of a token")
        return value

    def _bad(self, key: str, wanted: str) -> InvalidModelFileError:
        return InvalidModelFileError(self._gguf.path, f"key 'tokenizer.{key}' is not {wanted}")
