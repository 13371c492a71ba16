"""Laws of the schema algebra on random schemas, with `jsonschema` as the oracle.

Schemas and documents share a small alphabet, so that they often meet. A document counts as accepted
if some order of its keys is: which orders are written is docs/decisions/0003-one-spelling.md.
"""

from __future__ import annotations

import json
import random
from decimal import Decimal, InvalidOperation, localcontext
from itertools import combinations, islice, permutations, product

import jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from grammars.errors import GrammarError, UnsatisfiableError
from grammars.limits import CompileLimits
from grammars.masks.distinct_point import DistinctPoint
from grammars.masks.distinct_walk import DistinctWalk
from grammars.masks.reference import ReferenceWalk
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary

LAW = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
MAX_ORDERS = 150
MAX_BYTES = 300
FREE_BYTES = 40
BYTES = b'{}[]":,ab c012-.5ntruefals'
CLOSING = b'}]":01ntruefalsabc,-.5{['

TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"]
KEYS = ["a", "bb", "ccc"]  # of different lengths: see `is_narrowed`
SCALARS = [None, True, False, 0, 1, 2, -1, Decimal("0.5"), Decimal("1.5"), "", "a", "b", "ab", "1"]
NUMBERS = [-1, 0, 1, 2, Decimal("0.5")]
PATTERNS = ["a", "^a", "b$", "^(a|bb)$", "^.$", "^[^a]*$"]
SCALAR_KEYWORDS = {
    "type": lambda rng: rng.choice([rng.choice(TYPES), rng.sample(TYPES, rng.randint(1, 4))]),
    "const": lambda rng: random_document(rng, 1),
    "enum": lambda rng: [random_document(rng, 1) for _ in range(rng.randint(1, 4))],
    "minimum": lambda rng: rng.choice(NUMBERS),
    "maximum": lambda rng: rng.choice(NUMBERS),
    "exclusiveMinimum": lambda rng: rng.choice(NUMBERS),
    "exclusiveMaximum": lambda rng: rng.choice(NUMBERS),
    "multipleOf": lambda rng: rng.choice([1, 2, Decimal("0.5"), 3]),
    "minLength": lambda rng: rng.randint(0, 3),
    "maxLength": lambda rng: rng.randint(0, 3),
    "pattern": lambda rng: rng.choice(PATTERNS),
}
OBJECT_KEYWORDS = {
    "properties": lambda rng, depth: random_schemas(rng, depth, KEYS),
    "required": lambda rng, _: rng.sample(KEYS, rng.randint(0, 2)),
    "additionalProperties": lambda rng, depth: random_schema(rng, depth),
    "patternProperties": lambda rng, depth: random_schemas(rng, depth, PATTERNS),
    "propertyNames": lambda rng, depth: random_schema(rng, depth),
    "minProperties": lambda rng, _: rng.randint(0, 3),
    "maxProperties": lambda rng, _: rng.randint(0, 3),
    "dependentRequired": lambda rng, _: {rng.choice(KEYS): rng.sample(KEYS, rng.randint(0, 2))},
    "dependentSchemas": lambda rng, depth: random_schemas(rng, depth, KEYS),
    "unevaluatedProperties": lambda rng, depth: random_schema(rng, depth),
}
ARRAY_KEYWORDS = {
    "items": lambda rng, depth: random_schema(rng, depth),
    "prefixItems": lambda rng, depth: random_branches(rng, depth, 2),
    "contains": lambda rng, depth: random_schema(rng, depth),
    "minContains": lambda rng, _: rng.randint(0, 3),
    "maxContains": lambda rng, _: rng.randint(0, 3),
    "minItems": lambda rng, _: rng.randint(0, 3),
    "maxItems": lambda rng, _: rng.randint(0, 3),
    "unevaluatedItems": lambda rng, depth: random_schema(rng, depth),
    "uniqueItems": lambda rng, _: rng.random() < 0.8,
}
LOGIC_KEYWORDS = {
    "allOf": lambda rng, depth: random_branches(rng, depth, 2),
    "anyOf": lambda rng, depth: random_branches(rng, depth, 3),
    "oneOf": lambda rng, depth: random_branches(rng, depth, 3),
    "not": lambda rng, depth: random_schema(rng, depth),
    "if": lambda rng, depth: random_schema(rng, depth),
    "then": lambda rng, depth: random_schema(rng, depth),
    "else": lambda rng, depth: random_schema(rng, depth),
    "$ref": lambda rng, _: rng.choice(["#/$defs/x", "#/$defs/y", "#"]),
}
FAMILIES = [OBJECT_KEYWORDS, ARRAY_KEYWORDS, LOGIC_KEYWORDS]
OWES_DISTINCT_KEYS = {"not", "oneOf", "if"}


def random_schema(rng, depth):
    """A schema of a few keywords; those of one kind come together more often."""
    kind = rng.random()
    if kind < 0.05:
        return rng.random() < 0.5
    names = rng.sample([*SCALAR_KEYWORDS], rng.choice([0, 0, 1, 1, 2]))
    schema = {name: SCALAR_KEYWORDS[name](rng) for name in names}
    if depth > 0 and kind > 0.25:
        family = (
            rng.choice(FAMILIES) if kind < 0.8 else {k: v for f in FAMILIES for k, v in f.items()}
        )
        names = rng.sample([*family], rng.randint(1, 4))
        schema |= {name: family[name](rng, depth - 1) for name in names}
    if schema.keys().isdisjoint(("then", "else")):
        schema.pop("if", None)  # it restricts nothing, yet the oracle follows references in it
    return schema


def random_schemas(rng, depth, names):
    return {name: random_schema(rng, depth) for name in rng.sample(names, rng.randint(1, 2))}


def random_branches(rng, depth, most):
    return [random_schema(rng, depth) for _ in range(rng.randint(1, most))]


def random_root(seed):
    """A schema with definitions to refer to."""
    rng = random.Random(seed)
    definitions = {"x": random_schema(rng, 2), "y": random_schema(rng, 1)}
    root = random_schema(rng, rng.randint(1, 3))
    return {**(root if isinstance(root, dict) else {"not": not root}), "$defs": definitions}


SEEDS = st.integers(0, 2**32)
ROOTS = SEEDS.map(random_root)


class Oracle:
    """What `jsonschema` says of documents."""

    def __init__(self, schema):
        self.schema = exact_json(as_json(schema))
        self._validator = jsonschema.Draft202012Validator(self.schema)

    def judge(self, document):
        """Whether the document is valid; None where that is too much for the library."""
        try:
            with localcontext(prec=1_000):
                return self._validator.is_valid(document)
        except (InvalidOperation, RecursionError):  # 1e999 % 2; a reference that we need not follow
            return None


class Judged:
    """A compiled schema, read byte by byte with the plain reference."""

    def __init__(self, schema):
        self.text = as_json(schema)
        self.oracle = Oracle(schema)
        vocabulary = byte_vocabulary()
        tables = AutomatonTables()
        states = StructuralStates(Embed(JsonSchema(self.text)), tables, vocabulary, LIMITS)
        self._plain = ReferenceWalk(tables, states, vocabulary)
        self._walk = DistinctWalk(self._plain, states, tables)
        self._start = DistinctPoint(self._plain.start(states.root))

    def accepts(self, text):
        read = self._walk.read(self._start, text.encode())
        return read is not None and self._plain.is_complete(read.plain)

    def accepts_in_some_order(self, document):
        return any(self.accepts(as_json(d)) for d in islice(orders(document), MAX_ORDERS))

    def random_text(self, rng):
        """A text that the grammar accepts; None where it did not end in time."""
        here, written = self._start, bytearray()
        while len(written) < MAX_BYTES:
            is_late = len(written) > FREE_BYTES
            if self._plain.is_complete(here.plain) and (is_late or rng.random() < 0.4):
                return written.decode()
            wishes = CLOSING if is_late else BYTES
            for byte in (*rng.sample(wishes, len(wishes)), *range(256)):
                read = self._walk.read(here, (byte,))
                if read is not None and self._walk.is_alive(read):
                    here = read
                    written.append(byte)
                    break
            else:
                assert self._plain.is_complete(here.plain), f"a dead end after {bytes(written)!r}"
                return written.decode()
        return None


LIMITS = CompileLimits(max_states=5_000, max_schema_nodes=5_000)


def as_json(value):
    """JSON without spaces; decimals are plain, without needless zeros."""
    match value:
        case Decimal():
            digits = f"{value:f}"
            return digits.rstrip("0").rstrip(".") if "." in digits else digits
        case list():
            return "[" + ",".join(map(as_json, value)) + "]"
        case dict():
            members = (f"{json.dumps(key)}:{as_json(member)}" for key, member in value.items())
            return "{" + ",".join(members) + "}"
        case _:
            return json.dumps(value)


def exact_json(text):
    """Parsed JSON without floats; integers by value (5.0 is one), other numbers as decimals."""

    def number(spelling):
        value = Decimal(spelling)
        is_integer = value.adjusted() < 100 and value == value.to_integral_value()
        return int(value) if is_integer else value

    return json.loads(text, parse_float=number)


def orders(document):
    """The document with the keys of all its objects in every order."""
    match document:
        case list():
            yield from map(list, product(*[list(orders(item)) for item in document]))
        case dict():
            members = [[(key, inner) for inner in orders(v)] for key, v in document.items()]
            for chosen in product(*members):
                yield from map(dict, permutations(chosen))
        case _:
            yield document


def is_narrowed(schema, document):
    """Whether several keys with conditions may be owed, and two of the document count as one.

    Where n are owed, keys are told apart by their length modulo n (`key_groups`).
    """
    return not OWES_DISTINCT_KEYS.isdisjoint(keywords_of(schema)) and any(
        (len(one) - len(other)) % num_owed == 0
        for names in key_sets(document)
        for one, other in combinations(names, 2)
        for num_owed in range(2, 7)
    )


def key_sets(document):
    """The keys of each object in a document."""
    match document:
        case dict():
            return [[*document], *(keys for m in document.values() for keys in key_sets(m))]
        case list():
            return [keys for member in document for keys in key_sets(member)]
        case _:
            return []


def keywords_of(schema):
    match schema:
        case dict():
            return {*schema, *(k for member in schema.values() for k in keywords_of(member))}
        case list():
            return {k for member in schema for k in keywords_of(member)}
        case _:
            return set()


def random_document(rng, depth=2):
    kind = rng.random()
    if depth == 0 or kind < 0.4:
        return rng.choice(SCALARS)
    if kind < 0.7:
        return [random_document(rng, depth - 1) for _ in range(rng.randrange(4))]
    names = rng.sample(KEYS, rng.randrange(4))
    return {name: random_document(rng, depth - 1) for name in names}


def mutated(document, rng):
    """A document that differs in one place."""
    if not isinstance(document, (list, dict)) or not document or rng.random() < 0.3:
        if isinstance(document, list) and rng.random() < 0.7:
            return [*document, random_document(rng, 1)]
        if isinstance(document, dict) and rng.random() < 0.7:
            return {**document, rng.choice(KEYS): random_document(rng, 1)}
        return random_document(rng, 1)
    place = rng.choice([*document] if isinstance(document, dict) else range(len(document)))
    changed = document.copy()
    if rng.random() < 0.3:
        del changed[place]
    else:
        changed[place] = mutated(document[place], rng)
    return changed


def is_small(document):
    """Whether its numbers can be written plainly, and all orders of its keys are tried."""
    return (
        not has_long_number(document)
        and len(list(islice(orders(document), MAX_ORDERS + 1))) <= MAX_ORDERS
    )


def has_long_number(document):
    match document:
        case dict():
            return any(map(has_long_number, document.values()))
        case list():
            return any(map(has_long_number, document))
        case Decimal():
            return abs(document.adjusted()) > 100
        case _:
            return isinstance(document, float)  # an exponent past those of decimals


def compiled(schema):
    try:
        return Judged(schema)
    except GrammarError:
        assume(False)  # refused: the other laws speak of it


@LAW
@given(ROOTS, SEEDS)
def test_a_document_is_accepted_exactly_if_it_is_valid(schema, seed):
    judged, rng = compiled(schema), random.Random(seed)
    written = [judged.random_text(rng) for _ in range(3)]
    documents = [random_document(rng, 2) for _ in range(8)]
    for text in filter(None, written):
        document = exact_json(text)
        assert judged.oracle.judge(document) is not False, text
        documents += [document, *(mutated(document, rng) for _ in range(3))]
    for document in filter(is_small, documents):
        valid, accepted = judged.oracle.judge(document), judged.accepts_in_some_order(document)
        if valid is not None and (accepted or not is_narrowed(judged.oracle.schema, document)):
            assert accepted == valid, as_json(document)


@LAW
@given(ROOTS, SEEDS)
def test_no_document_satisfies_what_is_refused_as_unsatisfiable(schema, seed):
    try:
        Judged(schema)
    except UnsatisfiableError:
        rng, oracle = random.Random(seed), Oracle(schema)
        for _ in range(200):
            document = random_document(rng, 2)
            assert not oracle.judge(document), as_json(document)
    except GrammarError:
        pass
