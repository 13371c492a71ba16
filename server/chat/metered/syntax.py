"""Metered syntax: which parts of Jinja a template may use, and where it pays for them.

The pass below rewrites a parsed template so that every body that can run more than once pays for
its nodes first, and every expression that makes or goes through a value of any size is a filter of
`server.chat.metered.filters`. Their names cannot be spelled in a template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jinja2 import Environment

Body = TypeVar("Body", nodes.Macro, nodes.CallBlock)

SPEND: Final = "(spend)"
CONCAT: Final = "(concat)"
MADE: Final = "(made)"
COMPARED: Final = "(compared)"

_PAYMENT_STEPS: Final = 4
"""What the payment itself takes: it is a call."""

_ALLOWED_STATEMENTS: Final = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.ExprStmt, nodes.If, nodes.For),
    *(nodes.Break, nodes.Continue, nodes.Assign, nodes.AssignBlock, nodes.Macro, nodes.CallBlock),
    *(nodes.FilterBlock, nodes.With, nodes.Scope, nodes.Expr, nodes.Helper),
)


def find_unsupported(template: nodes.Template) -> str | None:
    """The first statement that has no place in a chat template, as `Include`, if there is one."""
    for node in template.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED_STATEMENTS):
            return type(node).__name__
    return None


def meter(template: nodes.Template, environment: Environment) -> nodes.Template:
    """The same template, paying for what it does; changed in place."""
    payment = _payment(template.body)
    metered: nodes.Template = _Meter().visit(template)
    metered.body.insert(0, payment)
    metered.set_environment(environment)
    return metered


class _Meter(NodeTransformer):
    """Inner nodes first, so that what is put in is not looked at again."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802  # jinja2's names
        payment = _payment(node.body)
        for_test = None if node.test is None else _spending([node.test])
        self.generic_visit(node)
        node.body.insert(0, payment)
        if for_test is not None and node.test is not None:
            node.test = nodes.And(for_test, node.test, lineno=node.lineno)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:  # noqa: N802
        return self._with_payment(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.CallBlock:  # noqa: N802
        return self._with_payment(node)

    def _with_payment(self, node: Body) -> Body:
        payment = _payment(node.body)
        self.generic_visit(node)
        node.body.insert(0, payment)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), CONCAT)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filtered(node.expr, COMPARED)
        for operand in node.ops:
            operand.expr = _filtered(operand.expr, COMPARED)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            return _filtered(node, MADE)
        node.arg = _hashed(node.arg)
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Pair:  # noqa: N802
        self.generic_visit(node)
        node.key = _hashed(node.key)
        return node


def _payment(body: Iterable[nodes.Node]) -> nodes.ExprStmt:
    return nodes.ExprStmt(_spending(body), lineno=1)


def _spending(parts: Iterable[nodes.Node]) -> nodes.Expr:
    """True, once the nodes and the literal text of these parts are paid for."""
    num_nodes, num_chars = _PAYMENT_STEPS, 0
    for part in parts:
        found = [part, *part.find_all(nodes.Node)]
        num_nodes += len(found)
        num_chars += sum(len(x.data) for x in found if isinstance(x, nodes.TemplateData))
    return _filtered(nodes.Const((num_nodes, num_chars), lineno=1), SPEND)


def _hashed(key: nodes.Expr) -> nodes.Expr:
    """A key that may be a tuple of tuples; one that is written out is not."""
    return key if isinstance(key, nodes.Const) else _filtered(key, COMPARED)


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
