"""One choice: what a step that brings several tokens counts."""

from __future__ import annotations

from engine.output import RequestOutput, TokenLogprobs
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.reply.choice import ChoiceReply
from server.reply.events import TextEvent
from tests.support.byte_vocabulary import byte_vocabulary


def test_tokens_behind_a_stop_string_do_not_count():
    vocabulary = byte_vocabulary()
    reply = ChoiceReply(
        vocabulary,
        reply_format=ReplyFormat(),
        tools=(),
        thinking=Thinking.NONE,
        stops=("##",),
    )
    token_ids = tuple(vocabulary.encode(b"ab##cd"))
    logprobs = tuple(TokenLogprobs(token_id, -1.0, ()) for token_id in token_ids)
    step = reply.add(RequestOutput("x", token_ids, logprobs))
    assert step.events == (TextEvent("ab"),)
    assert (step.finish, step.stop_string) == ("stop", "##")
    assert step.num_tokens == 4
    assert step.logprobs == logprobs[:4]
