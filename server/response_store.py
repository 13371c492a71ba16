"""ResponseStore: responses that may be asked for again, or gone on from, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from pydantic import Field, TypeAdapter

from grammars.byte_lru import ByteLru
from server.errors import NotFoundError, RequestError
from server.wire.responses.items import GivenItem, ItemReference, MessageItem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.wire.responses.request import ResponsesRequest

_ITEM: Final = TypeAdapter[GivenItem](Annotated[GivenItem, Field(discriminator="type")])
_ITEMS: Final = TypeAdapter[list[GivenItem]](
    list[Annotated[GivenItem, Field(discriminator="type")]]
)
_MAX_SHOWN_ID: Final = 64


@dataclass(frozen=True, slots=True)
class _Stored:
    """A response that has ended; JSON stays encoded, so that its size is known.

    Args:
        body: as it was answered.
        conversation: all items up to and with its output, instructions left out.
        item_ids: of its output.
    """

    body: bytes
    conversation: bytes
    item_ids: tuple[str, ...]


class ResponseStore:
    """Keeps the responses that were used last; each caller sees its own alone.

    A conversation is kept whole with every response of it, so that none needs another: the context
    length of the model bounds it.

    Args:
        max_bytes: what all of them may take; the least recently used go first.
    """

    def __init__(self, max_bytes: int) -> None:
        # Half for the responses, half for their items once more: those that references name.
        self._responses: ByteLru[tuple[bytes, str], _Stored] = ByteLru(max_bytes // 2)
        self._items: ByteLru[tuple[bytes, str], bytes] = ByteLru(max_bytes // 2)

    def keep(
        self, caller: bytes, body: Mapping[str, object], conversation: Sequence[GivenItem]
    ) -> None:
        """Keep a response.

        Args:
            caller: whose it is.
            body: of the ended response.
            conversation: the items that it answers.
        """
        output = body["output"]
        assert isinstance(output, list)
        said = _ITEMS.dump_python(
            list(conversation), mode="json", by_alias=True, exclude_unset=True
        )
        items = {str(item["id"]): msgspec.json.encode(item) for item in output}
        stored = _Stored(
            msgspec.json.encode(body), msgspec.json.encode([*said, *output]), tuple(items)
        )
        num_bytes = len(stored.body) + len(stored.conversation)
        self._responses.put((caller, str(body["id"])), stored, num_bytes)
        for item_id, item in items.items():
            self._items.put((caller, item_id), item, len(item))

    def body(self, caller: bytes, response_id: str) -> bytes:
        """The body of a response, as JSON.

        Raises:
            NotFoundError: the caller has none of this id, or not any more.
        """
        stored = self._responses.get((caller, response_id))
        if stored is None:
            raise _unknown(response_id)
        return stored.body

    def forget(self, caller: bytes, response_id: str) -> None:
        """Drop a response and its items.

        Raises:
            NotFoundError: the caller has none of this id, or not any more.
        """
        stored = self._responses.pop((caller, response_id))
        if stored is None:
            raise _unknown(response_id)
        for item_id in stored.item_ids:
            self._items.pop((caller, item_id))

    def history(self, caller: bytes, response_id: str | None) -> list[GivenItem]:
        """What was said and answered up to a response; nothing for None.

        Raises:
            RequestError: the caller has none of this id, or not any more.
        """
        if response_id is None:
            return []
        stored = self._responses.get((caller, response_id))
        if stored is None:
            raise RequestError(
                f"previous_response_id: no response {response_id[:_MAX_SHOWN_ID]!r} is stored here "
                "(store: true keeps the last ones, until the server stops); send the whole input",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        return _ITEMS.validate_json(stored.conversation)

    def given_items(self, caller: bytes, request: ResponsesRequest) -> list[GivenItem]:
        """The items of `input`, those that references name among them.

        Raises:
            RequestError: a reference to an item that is not stored for the caller.
        """
        if isinstance(request.input, str):
            return [MessageItem(type="message", role="user", content=request.input)]
        return [
            self._referred(caller, item.id, index) if isinstance(item, ItemReference) else item
            for index, item in enumerate(request.input or [])
        ]

    def _referred(self, caller: bytes, item_id: str, index: int) -> GivenItem:
        item = self._items.get((caller, item_id))
        if item is None:
            raise RequestError(
                f"input[{index}].id: no item {item_id[:_MAX_SHOWN_ID]!r} is stored here; send the "
                "item itself",
                param=f"input[{index}].id",
                code="item_not_found",
            )
        return _ITEM.validate_json(item)


def _unknown(response_id: str) -> NotFoundError:
    return NotFoundError(
        f"No response {response_id[:_MAX_SHOWN_ID]!r} is stored here (the last ones are kept, "
        "until the server stops)",
        param="response_id",
    )
