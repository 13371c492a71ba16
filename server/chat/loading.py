"""load_prompts: the builder of prompts for a loaded tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chat.prompt import PromptBuilder
from server.chat.template import ChatTemplate
from server.errors import StartupError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from server.chat.metered.budget import RenderLimits
    from server.config import ToolFormatName


def load_prompts(
    model_name: str,
    tokenizer: PreTrainedTokenizerFast,
    limits: RenderLimits,
    *,
    max_model_len: int,
    tool_format: ToolFormatName = "auto",
) -> PromptBuilder:
    """Make the builder of a model's prompts.

    Args:
        model_name: for the error.
        tokenizer: of the model.
        limits: of each rendering.
        max_model_len: tokens of prompt and answer together.
        tool_format: how the model writes calls; auto: as its template shows.

    Raises:
        StartupError: the chat template is missing or cannot be used, or the tokenizer cannot.
    """
    try:
        template = ChatTemplate(tokenizer, limits)
        tokenizer_json = tokenizer.backend_tokenizer.to_str()
        return PromptBuilder(
            template, tokenizer_json, max_model_len=max_model_len, tool_format=tool_format
        )
    except ValueError as error:
        raise StartupError(f"{model_name} cannot be served: {error}") from error
