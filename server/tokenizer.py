"""The model's tokenizer, and its vocabulary as grammars read it."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grammars.errors import GrammarError
from grammars.text_encoder import is_panic
from grammars.vocabulary import Vocabulary
from server.errors import StartupError
from server.tokenizer_check import check_tokenizer_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from transformers import PreTrainedTokenizerFast

    from engine.model_info import ModelInfo


def load_tokenizer(model_folder: Path) -> PreTrainedTokenizerFast:
    """The model's tokenizer; no code from the folder, nothing from the network.

    Raises:
        StartupError: there is none, or not in the form of a tokenizer.json.
    """
    check_tokenizer_json(model_folder / "tokenizer.json")
    # Here, because it takes seconds, in which an engine's process works that was started before.
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            model_folder, trust_remote_code=False, local_files_only=True
        )
    except BaseException as error:  # what the tokenizers library raises has no narrower type
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise StartupError(f"{model_folder.name} has no usable tokenizer: {error}") from error
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise StartupError(f"{model_folder.name} has no tokenizer.json; convert its tokenizer")
    return tokenizer


@contextmanager
def without_torch() -> Iterator[None]:
    """Within this context transformers is loaded as where torch is not installed.

    For a process that only reads tokenizers: they need nothing of torch, which would take two
    thirds of the CPU time and 230 MB. Where torch is loaded already, nothing changes.
    """
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    if "torch" in modules:
        yield
        return
    modules["torch"] = None  # it cannot be imported, and is not found
    advice = logging.getLogger("transformers")
    advice.disabled = True  # "PyTorch was not found"
    try:
        yield
    finally:
        advice.disabled = False
        del modules["torch"]


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
