"""The model's tokenizer, and its vocabulary as grammars read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.errors import GrammarError
from grammars.vocabulary import Vocabulary
from server.errors import StartupError

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedTokenizerFast

    from engine.model_info import ModelInfo


def load_tokenizer(model_folder: Path) -> PreTrainedTokenizerFast:
    """The model's tokenizer; no code from the folder, nothing from the network.

    Raises:
        StartupError: there is none, or not in the form of a tokenizer.json.
    """
    # Here, because it takes seconds, in which an engine's process works that was started before.
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            model_folder, trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise StartupError(f"{model_folder.name} has no usable tokenizer: {error}") from error
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise StartupError(f"{model_folder.name} has no tokenizer.json; convert its tokenizer")
    return tokenizer


def make_vocabulary(tokenizer: PreTrainedTokenizerFast, info: ModelInfo) -> Vocabulary:
    """The vocabulary of a tokenizer, as wide as the model's output head.

    Raises:
        StartupError: the tokenizer cannot be used.
    """
    end_token_ids = set(info.eos_token_ids)
    if tokenizer.eos_token_id is not None:
        end_token_ids.add(tokenizer.eos_token_id)
    try:
        return Vocabulary(
            tokenizer.backend_tokenizer.to_str().encode(),
            padded_size=info.padded_vocab_size,
            end_token_ids=end_token_ids,
        )
    except (GrammarError, ValueError) as error:
        raise StartupError(f"{info.name} cannot be served: {error}") from error
