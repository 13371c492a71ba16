"""SamplingFields: what requests for text have in common, whatever endpoint they are sent to."""

from __future__ import annotations

from typing import Annotated
from typing import Literal as OneOf

from pydantic import Field

from grammars.spec import PropertyOrder
from server.wire.base import Items, Members, WireModel
from server.wire.formats import StructuredOutputs


class SamplingFields(WireModel):
    """How the text is chosen, where it ends and what it is bound to; null means absent."""

    stop: str | Items[str] | None = None
    stop_token_ids: Items[Annotated[int, Field(ge=0)]] | None = None
    ignore_eos: bool | None = None
    min_tokens: Annotated[int, Field(ge=0)] | None = None
    on_length: OneOf["cut", "close"] | None = None
    property_order: PropertyOrder | None = None

    structured_outputs: StructuredOutputs | None = None
    guided_json: dict[str, object] | bool | str | None = None
    guided_regex: str | None = None
    guided_choice: Items[str] | None = None
    guided_grammar: str | None = None
    grammar: str | None = None
    json_schema: dict[str, object] | bool | None = None

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    min_p: Annotated[float, Field(ge=0, lt=1)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    repetition_penalty: Annotated[float, Field(gt=0, le=10)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    logit_bias: Members[Annotated[float, Field(ge=-100, le=100)]] | None = None
    logprobs_of: OneOf["choice", "model"] | None = None


def sampling_fields(request: SamplingFields) -> dict[str, object]:
    """The values of these fields, to be given to the request of another endpoint."""
    return {name: getattr(request, name) for name in SamplingFields.model_fields}
