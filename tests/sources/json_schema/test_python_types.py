"""Python types as schemas: what they say, and that texts come back as instances."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import ipaddress
import json
import pathlib
import pickle
import random
import typing
import uuid
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, NewType, Optional, TypedDict, Union

import pytest

import detent
from detent.errors import ArgumentError, LimitError, UnsupportedError
from detent.sources.json_schema.parse.decoder import decode
from detent.sources.json_schema.python_types import is_model, schema_of

annotated_types = pytest.importorskip("annotated_types")
jsonschema = pytest.importorskip("jsonschema")
pydantic = pytest.importorskip("pydantic")


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2
    NONE = None


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@dataclasses.dataclass
class Tree:
    name: str
    children: list[Tree] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Everything:
    text: str
    count: int
    share: float
    exact: Decimal
    flag: bool
    nothing: None
    when: dt.datetime
    day: dt.date
    clock: dt.time
    length: dt.timedelta
    key: uuid.UUID
    address: ipaddress.IPv4Address
    path: pathlib.Path
    colour: Colour
    pair: tuple[int, str]
    many: tuple[int, ...]
    some: frozenset[str]
    counts: dict[str, int]
    either: int | list[str] | None
    maybe: Optional[Colour] = None  # noqa: UP045
    queue: collections.deque[int] = dataclasses.field(default_factory=collections.deque)
    hidden: int = dataclasses.field(init=False, default=3)


class Movie(TypedDict, total=False):
    title: typing.Required[str] if hasattr(typing, "Required") else str
    year: int


class Point(NamedTuple):
    x: float
    y: float = 0.0


UserId = NewType("UserId", int)


def book(
    who: str, nights: int, *, room: Literal["single", "double", 3] = "single", note: Annotated[str, "a note"] = ""
):
    return who, nights, room, note


EVERYTHING = {
    "text": "é",
    "count": 3.0,
    "share": 1,
    "exact": 1.10,
    "flag": True,
    "nothing": None,
    "when": "2024-02-29t12:00:00.123456+01:00",
    "day": "2024-02-29",
    "clock": "12:00:00z",
    "length": "P1DT2H",
    "key": "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "address": "192.0.2.1",
    "path": "a/b",
    "colour": 2,
    "pair": [1, "x"],
    "many": [1, 2],
    "some": ["a", "a"],
    "counts": {"a": 1},
    "either": ["x"],
}


def round_trip(source, text):
    """Parse with a parser that has been pickled, after the schema has judged the text."""
    schema, parse = schema_of(source)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(text), schema)
    return pickle.loads(pickle.dumps(parse))(text)


def test_everything():
    value = round_trip(Everything, json.dumps(EVERYTHING))
    zone = dt.timezone(dt.timedelta(hours=1))
    assert value == Everything(
        text="é",
        count=3,
        share=1.0,
        exact=Decimal("1.1"),
        flag=True,
        nothing=None,
        when=dt.datetime(2024, 2, 29, 12, 0, 0, 123456, zone),
        day=dt.date(2024, 2, 29),
        clock=dt.time(12, tzinfo=dt.timezone.utc),
        length=dt.timedelta(days=1, hours=2),
        key=uuid.UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479"),
        address=ipaddress.IPv4Address("192.0.2.1"),
        path=pathlib.Path("a/b"),
        colour=Colour.BLUE,
        pair=(1, "x"),
        many=(1, 2),
        some=frozenset({"a"}),
        counts={"a": 1},
        either=["x"],
    )
    assert type(value.count) is int and type(value.share) is float


@pytest.mark.parametrize(
    ("source", "text", "wanted"),
    [
        (int, "1.00", 1),
        (float, "1e400", float("inf")),
        (float, "1" + "0" * 400, float("inf")),
        (Decimal, "0.1000000000000000000000001", Decimal("0.1000000000000000000000001")),
        (bool, "true", True),
        (type(None), "null", None),
        (None, "null", None),
        (str, r'"\ud83d\ude00\n"', "😀\n"),
        (Colour, "null", Colour.NONE),
        (Size, "2.0", Size.LARGE),
        (Literal[1, True, "x", None], "true", True),
        (Literal[Colour.RED], '"red"', Colour.RED),
        (Any, '[1.5, {"a": [null]}]', [1.5, {"a": [None]}]),
        (list, "[1, 2.5]", [1, 2.5]),
        (dict, '{"a": 1}', {"a": 1}),
        (tuple, "[1]", (1,)),
        (tuple[()], "[]", ()),
        (set[int], "[1, 1]", {1}),
        (collections.abc.Sequence[int], "[1]", [1]),
        (collections.abc.Mapping[Literal["a", "b"], int], '{"a": 1}', {"a": 1}),
        (
            dict[uuid.UUID, int],
            '{"f47ac10b-58cc-4372-a567-0e02b2c3d479": 1}',
            {uuid.UUID(int=324969006592305634633390616021200786553): 1},
        ),
        (Union[int, str], '"x"', "x"),  # noqa: UP007
        (int | float, "1", 1),
        (bool | int, "1", 1),
        (dt.date | str, '"2024-02-30"', "2024-02-30"),
        (Movie, '{"title": "x"}', {"title": "x"}),
        (Point, '{"x": 1}', Point(1.0, 0.0)),
        (Point | Tree, '{"name": "x"}', Tree("x")),
        (UserId, "7", 7),
        (Annotated[int, "seven"], "7", 7),
        (book, '{"who": "Ada", "nights": 2.0, "room": 3}', {"who": "Ada", "nights": 2, "room": 3}),
        (Tree, '{"name": "a", "children": [{"name": "b"}]}', Tree("a", [Tree("b")])),
        (list[Tree], '[{"name": "a"}]', [Tree("a")]),
    ],
)
def test_values(source, text, wanted):
    found = round_trip(source, text)
    assert found == wanted and type(found) is type(wanted)


def test_long_integers():
    assert schema_of(int)[1]("1" * 5000) == int("1" * 4000) * 10**1000 + int("1" * 1000)


@pytest.mark.parametrize(
    ("source", "schema"),
    [
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (
            book,
            {
                "type": "object",
                "properties": {
                    "who": {"type": "string"},
                    "nights": {"type": "integer"},
                    "room": {"enum": ["single", "double", 3]},
                    "note": {"type": "string", "description": "a note"},
                },
                "required": ["who", "nights"],
                "additionalProperties": False,
            },
        ),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (
            Movie,
            {
                "$ref": "#/$defs/Movie",
                "$defs": {
                    "Movie": {
                        "type": "object",
                        "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
                        "required": ["title"],
                        "additionalProperties": False,
                    }
                },
            },
        ),
    ],
)
def test_schemas(source, schema):
    assert schema_of(source)[0] == schema


def test_properties_keep_their_order():
    schema, _ = schema_of(Everything)
    names = [field.name for field in dataclasses.fields(Everything) if field.init]
    assert list(schema["$defs"]["Everything"]["properties"]) == names


def test_constraints():
    annotated_types = pytest.importorskip("annotated_types")
    kind = Annotated[int, annotated_types.Ge(1), annotated_types.Lt(10), annotated_types.MultipleOf(3)]
    assert schema_of(kind)[0] == {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 3}
    assert schema_of(Annotated[list[int], annotated_types.Len(1, 3)])[0]["maxItems"] == 3
    with pytest.raises(UnsupportedError, match="a schema cannot say it"):
        schema_of(Annotated[int, annotated_types.Predicate(bool)])


@pytest.mark.parametrize("source", [{"type": "string"}, '{"type": "string"}', True, b"{}", []])
def test_no_type(source):
    assert schema_of(source) is None


@dataclasses.dataclass
class WithComplex:
    inside: list[dict[str, complex]]


class Odd(enum.Enum):
    PAIR = (1, 2)


@dataclasses.dataclass
class Missing:
    other: Nowhere  # type: ignore[name-defined]  # noqa: F821


def starred(*numbers: int):
    return numbers


def bare(number):
    return number


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (WithComplex, "a value of an item of WithComplex.inside"),
        (dict[int, str], "JSON's names are strings"),
        (Odd, "no JSON scalar"),
        (Missing, "Nowhere"),
        (starred, "starred(numbers)"),
        (bare, "bare(number)"),
        (bytes, "no form in JSON"),
        (typing.Callable[[int], int], "no form in JSON"),
        (list[int, str], "its items have one type"),  # type: ignore[misc]
        (dict[str], "the type of its values is missing"),  # type: ignore[misc]
        (list["Nowhere"], "its name was not found"),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_unsupported(source, said):
    with pytest.raises(UnsupportedError) as caught:
        schema_of(source)
    assert said in str(caught.value) and len(str(caught.value).encode()) <= 512


def test_deep_annotations():
    kind = int
    for _ in range(70):
        kind = list[kind]
    with pytest.raises(LimitError, match="64 deep"):
        schema_of(kind)


@pytest.mark.parametrize(
    "text", ['"x"', "[1, 2", '{"name": 1}', '{"name": "x", "more": 1}', "{}", "[1] 2", "", '{"a" 1}']
)
def test_texts_that_are_none(text):
    with pytest.raises(ArgumentError):
        schema_of(Tree)[1](text)


def test_deep_values_take_no_recursion():
    depth = 20_000
    text = '{"name":"a","children":[' * depth + '{"name":"b"}' + "]}" * depth
    value = schema_of(Tree)[1](text)
    found = 1
    while value.children:
        value = value.children.pop()
        found += 1
    assert found == depth + 1
    assert schema_of(Any)[1]("[" * depth + "]" * depth)


@dataclasses.dataclass
class Left:
    down: Left | Right | None
    left: int = 0


@dataclasses.dataclass
class Right:
    down: Left | Right | None
    right: int = 0


def test_alternatives_do_not_multiply():
    # Each level reads as either until its last member, which is wrong for the first.
    depth = 200
    text = '{"down":' * depth + "null" + ',"right":1}' * depth
    assert schema_of(Left | Right)[1](text).right == 1


@pytest.mark.parametrize("seed", range(5))
def test_decode_is_json_loads(seed):
    rng = random.Random(seed)

    def value(depth):
        kind = rng.randrange(7 if depth else 5)
        if kind == 5:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 6:
            return {f"k{rng.randrange(9)}": value(depth - 1) for _ in range(rng.randrange(4))}
        return [None, True, rng.randrange(-99, 99), rng.random(), 'é"\\\n'][kind]

    for _ in range(200):
        given = value(4)
        text = json.dumps(given, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5)
        assert decode(f" {text}\n") == json.loads(text, parse_float=Decimal)
        broken = list(text)
        broken[rng.randrange(len(broken))] = rng.choice('{}[]",:x1 \\')
        broken = "".join(broken)
        try:
            wanted = json.loads(broken, parse_float=Decimal)
        except ValueError:
            with pytest.raises(ArgumentError):
                decode(broken)
        else:
            assert decode(broken) == wanted


# Pydantic.

pydantic = pytest.importorskip("pydantic")


class Person(pydantic.BaseModel):  # type: ignore[name-defined]
    full_name: str = pydantic.Field(alias="fullName", min_length=1)
    born: dt.datetime
    friends: list[Person] = pydantic.Field(default_factory=list)


@dataclasses.dataclass
class Company:
    owner: Person
    people: dict[str, Person]
    size: Annotated[int, pydantic.Field(ge=1, description="how many")] = 1


PERSON = json.dumps(
    {
        "fullName": "Ada",
        "born": "1815-12-10T00:00:00Z",
        "friends": [{"fullName": "B", "born": "2000-01-01T00:00:00Z"}],
    }
)


def test_pydantic_model():
    value = round_trip(Person, PERSON)
    assert value.full_name == "Ada" and value.friends[0].born.year == 2000
    schema, _ = schema_of(Person)
    assert schema["$defs"]["Person"]["properties"]["born"]["not"] == {"pattern": r"^0000|:60|\.\d{7}"}


def test_pydantic_adapter():
    value = round_trip(pydantic.TypeAdapter(list[Person]), f"[{PERSON}]")
    assert value[0].full_name == "Ada"


def test_pydantic_inside_a_dataclass():
    value = round_trip(Company, f'{{"owner": {PERSON}, "people": {{"a": {PERSON}}}}}')
    assert value.owner == value.people["a"] and value.owner.friends[0].full_name == "B"
    schema, _ = schema_of(Company)
    assert schema["$defs"]["Company"]["properties"]["size"] == {
        "type": "integer",
        "minimum": 1,
        "description": "how many",
    }


def test_is_model():
    assert all(map(is_model, [Person, Company, Movie, Point]))
    assert not any(map(is_model, [int, list[int], book, Colour, {"type": "object"}, Person.model_construct()]))


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ({int}, r"not a type; write set\[...\]"),
        ((int, str), r"not a type; write tuple\[...\]"),
        ([int], r"list\[...\]"),
        (dt.date(2020, 1, 1), "not a type; pass date itself"),
        (Decimal(1), "not a type; pass Decimal itself"),
    ],
)
def test_values_are_no_types(value: Any, advice: str) -> None:
    with pytest.raises(ArgumentError, match=advice):
        detent.json_schema(value)


def test_instances_are_no_types() -> None:
    @dataclasses.dataclass
    class Point:
        x: int

    with pytest.raises(ArgumentError, match="value of type Point, not a type; pass Point itself"):
        detent.json_schema(Point(1))


def test_none_is_a_type() -> None:
    assert detent.json_schema(None).parse("null") is None


def test_types_with_a_pydantic_schema_of_their_own() -> None:
    pydantic = pytest.importorskip("pydantic")
    link = detent.json_schema(pydantic.HttpUrl)
    assert str(link.parse('"https://example.org/a"')) == "https://example.org/a"
    assert not link.accepts('"no link"')


def test_pydantic_models_are_closed_unless_they_say_otherwise() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Closed(pydantic.BaseModel):  # type: ignore[name-defined]
        a: int

    class Open(pydantic.BaseModel):  # type: ignore[name-defined]
        model_config: ClassVar[dict[str, str]] = {"extra": "allow"}

        a: int
        inner: Closed | None = None

    assert not detent.json_schema(Closed).accepts('{"a": 1, "b": 2}')
    assert detent.json_schema(Open).accepts('{"a": 1, "b": 2}')
    assert not detent.json_schema(Open).accepts('{"a": 1, "inner": {"a": 1, "b": 2}}')


@pytest.mark.parametrize("wrapped", [False, True])
def test_pydantic_models_without_a_schema(wrapped: bool) -> None:
    class Job(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        run: collections.abc.Callable[[], None]

    with pytest.raises(UnsupportedError, match=r"^Job.run: pydantic cannot make a schema: Cannot generate"):
        detent.json_schema(pydantic.TypeAdapter(list[Job]) if wrapped else Job)


class WithLanguage(NamedTuple):
    text: Annotated[str, detent.without("secret")]


class WithClass(NamedTuple):
    count: list[Annotated[int, annotated_types.Ge]]


class WithSlice(NamedTuple):
    items: Annotated[list[int], slice(1, 2)]


@dataclasses.dataclass
class WithField:
    count: int = pydantic.Field(ge=3)


def with_field(count: int = pydantic.Field(ge=3)) -> None:
    """Count."""


LanguageModel = pydantic.create_model("LanguageModel", texts=list[Annotated[str, detent.without("secret")]])
ClassModel = pydantic.create_model("ClassModel", count=(Annotated[int, annotated_types.Ge], 3))
NestedModel = pydantic.create_model("NestedModel", part=WithLanguage)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (WithLanguage, "WithLanguage.text: .* a type holds no language"),
        (WithClass, r"WithClass.count: .* it is a class, which sets no bound; write Ge\(...\)"),
        (WithSlice, "WithSlice.items: .* write Len"),
        (WithField, "WithField.count: .* only classes of pydantic read Field"),
        (with_field, r"with_field\(count\): .* only classes of pydantic read Field"),
        (LanguageModel, "LanguageModel: texts: .* a type holds no language"),
        (ClassModel, "ClassModel: count: .* write Ge"),
        (NestedModel, "NestedModel.part: text: .* a type holds no language"),
        (pydantic.TypeAdapter(list[Annotated[str, detent.regex("a")]]), "a type holds no language"),
    ],
)
def test_what_a_schema_cannot_say_is_refused(source: Any, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        detent.json_schema(source)


def test_what_pydantic_reads_is_taken() -> None:
    kind = pydantic.dataclasses.dataclass(dataclasses.make_dataclass("Kind", [("count", int, pydantic.Field(ge=3))]))
    language = detent.json_schema(kind)
    assert language.accepts('{"count": 3}')
    assert not language.accepts('{"count": 2}')
    assert detent.json_schema(Annotated[list[int], annotated_types.Len(1, 2)]).accepts("[1]")


@pytest.mark.parametrize(("kind", "day"), [(dt.datetime, "2024-02-29T"), (dt.time, "")])
def test_times_have_the_digits_of_python(kind: Any, day: str) -> None:
    """A model could write digits of a second for ever; a `datetime` holds six."""
    for language in (detent.json_schema(kind), detent.json_schema(pydantic.TypeAdapter(kind))):
        assert language.accepts(f'"{day}12:00:00.123456Z"')
        assert not language.accepts(f'"{day}12:00:00.1234567Z"')
