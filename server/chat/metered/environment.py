"""MeteredTemplate: a chat template in a sandbox, each rendering of which has a budget.

The variables and functions are those that chat templates expect of transformers; what Jinja has
beyond them (blocks, includes, filters of web pages) is refused by name.
"""

from __future__ import annotations

from collections.abc import Sized
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn

import jinja2
import jinja2.meta
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace

from server.chat.metered.budget import RenderBudget, RenderLimits
from server.chat.metered.filters import (
    budget_of,
    metered_filters,
    metered_tests,
    paid_items,
    printed,
)
from server.chat.metered.growth import (
    check_numbers,
    check_power,
    spend_format,
    spend_product,
    spend_size,
)
from server.chat.metered.methods import may_be_used, spend_method
from server.chat.metered.syntax import find_unsupported, meter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2.parser import Parser

MAX_SOURCE_CHARS: Final = 2**20
"""Of a template; real ones have 20,000."""


_CALL_STEPS: Final = 16


class MeteredTemplate:
    """A compiled chat template.

    Args:
        source: Jinja, as transformers has it.
        limits: of each rendering.

    Attributes:
        variables: names that it reads and does not set.

    Raises:
        ValueError: it is malformed, or uses what chat templates have no use for.
    """

    def __init__(self, source: str, limits: RenderLimits) -> None:
        if len(source) > MAX_SOURCE_CHARS:
            raise ValueError(
                f"its chat template has {len(source)} characters, at most {MAX_SOURCE_CHARS} are "
                "compiled"
            )
        self._limits = limits
        environment = _Environment()
        try:
            parsed = environment.parse(source)
            if (statement := find_unsupported(parsed)) is not None:
                raise ValueError(f"its chat template has a statement {statement!r}")
            self.variables = frozenset(jinja2.meta.find_undeclared_variables(parsed))
            self._template = environment.from_string(meter(parsed, environment))
        except jinja2.TemplateError as error:
            raise ValueError(f"its chat template is malformed: {error}") from error
        except (SyntaxError, RecursionError, MemoryError) as error:  # of Python, which it becomes
            raise ValueError(f"its chat template is nested too deeply: {error}") from error

    def render(self, variables: Mapping[str, object]) -> str:
        """The text of the template with these variables, which are JSON values.

        Raises:
            RenderLimitError: it takes more than the limits allow.
            jinja2.TemplateError: the template refuses them, or does what it may not.
            Exception: whatever its expressions raise: TypeError, ValueError, LookupError,
                AttributeError, ArithmeticError, RecursionError.
        """
        context = self._template.new_context(dict(variables))
        assert isinstance(context, _Context)
        context.budget = RenderBudget(self._limits)
        return "".join(self._template.root_render_func(context))


class _Context(Context):
    """What one rendering knows, its budget among it."""

    budget: RenderBudget


class _Generation(Extension):
    """`{% generation %}`: marks what the model wrote, for training; here it is its body."""

    tags = frozenset({"generation"})  # type: ignore[assignment]  # jinja2 declares a set

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class _Environment(ImmutableSandboxedEnvironment):
    context_class = _Context
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, "jinja2.ext.loopcontrols"],
            optimized=False,  # it would compute constants, at no cost to anybody
            finalize=printed,
            cache_size=0,
        )
        self.filters: dict[str, Any] = metered_filters()
        self.tests: dict[str, Any] = metered_tests()
        self.globals: dict[str, object] = {
            "range": self.globals["range"],
            "dict": _dict,
            "namespace": _Namespace,
            "cycler": Cycler,
            "joiner": Joiner,
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
        }

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        return super().is_safe_attribute(obj, attr, value) and may_be_used(obj, attr)

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        budget = budget_of(context)
        budget.spend(1)
        check_numbers(left, right)
        match operator:
            case "+":
                spend_size(budget, left)
                spend_size(budget, right)
            case "*":
                spend_product(budget, left, right)
            case "**":
                check_power(left, right)
            case "%" if isinstance(left, str):
                spend_format(budget, left, right)
            case "-" if isinstance(left, Sized):
                budget.weigh([left, right])
        result: object = super().call_binop(context, operator, left, right)
        return result

    def call(  # the names cannot be those of keywords that a template writes
        __self,  # noqa: N805
        __context: Context,
        __obj: object,
        *args: object,
        **kwargs: object,
    ) -> object:
        budget = budget_of(__context)
        budget.spend(_CALL_STEPS)
        if not isinstance(__obj, Macro):  # its body pays
            if getattr(__obj, "__name__", None) == "join" and args:
                items: Any = args[0]
                args = (list(paid_items(__context, items)), *args[1:])
            spend_method(budget, __obj, args, kwargs)
        result: object = super().call(__context, __obj, *args, **kwargs)
        return result


class _Namespace(Namespace):
    """As Jinja's, but what is in it is not printed with it."""

    def __repr__(self) -> str:
        return "<namespace>"


@jinja2.pass_context
def _dict(context: Context, *args: Any, **kwargs: object) -> dict[Any, Any]:  # noqa: ANN401
    budget = budget_of(context)
    budget.weigh([*args, *kwargs.values()])
    return dict(*args, **kwargs)


def _raise_exception(message: object) -> NoReturn:
    raise jinja2.TemplateError(str(message)[:1_000])


def _strftime_now(pattern: str) -> str:
    return datetime.now().astimezone().strftime(pattern[:100])
