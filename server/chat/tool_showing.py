"""ToolShowing: how a model is shown tools, earlier calls and results: by its template or by us."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.calls.formats import FORMATS, HERMES
from server.chat.adaptation import with_calls, with_systems
from server.chat.tool_prompt import with_calls_in_text, with_tools_in_system

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.calls.syntax import CallSyntax
    from server.chat.abilities import TemplateAbilities
    from server.chat.history import TemplateMessage


@dataclass(frozen=True, slots=True)
class ToolShowing:
    """Chosen once for a model.

    Args:
        syntax: the format in which the model writes calls.
        abilities: of its template.
        tools_by_template: the template describes the tools; else our own text does.
        calls_by_template: the template writes earlier calls and results; else our own text does.
    """

    syntax: CallSyntax
    abilities: TemplateAbilities
    tools_by_template: bool
    calls_by_template: bool

    @classmethod
    def choose(cls, abilities: TemplateAbilities, tool_format: str) -> ToolShowing:
        """Choose for a template.

        A template that writes calls in a format that we know is followed, and its format is the
        model's. Of one that shows tools in a way that we do not know, a format that is asked for by
        name is taken to be the model's. All other models get our own text, in the form of Hermes
        models or the one asked for.

        Args:
            abilities: of the template.
            tool_format: "auto", or a name of `FORMATS`.
        """
        wanted = None if tool_format == "auto" else FORMATS[tool_format]
        if abilities.calls is not None and wanted in (None, abilities.calls):
            return cls(abilities.calls, abilities, abilities.renders_tools, calls_by_template=True)
        is_known = abilities.calls is not None
        trusts_template = wanted is not None and abilities.renders_tools and not is_known
        return cls(wanted or HERMES, abilities, trusts_template, trusts_template)

    def show(
        self, messages: Sequence[TemplateMessage], tools: Sequence[dict[str, object]]
    ) -> tuple[list[TemplateMessage], Sequence[dict[str, object]]]:
        """The messages and the tools to give to the template."""
        shown = list(messages)
        if self.calls_by_template:
            shown = with_calls(shown, self.abilities, self.syntax)
        else:
            shown = list(with_calls_in_text(shown, self.syntax))
        if not self.tools_by_template:
            shown = with_tools_in_system(
                shown, tools, self.syntax, results_in_text=not self.calls_by_template
            )
            tools = ()
        return with_systems(shown, self.abilities), tools
