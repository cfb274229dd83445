"""Values of the libraries of `test-libraries`: what of them is shown, and that looking at them does nothing."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from programs import Program

import njrt
from njrt.values.rendering.describe import describe_variable, render_value
from njrt.values.rendering.one_line import write_brief
from njrt.values.rendering.redaction import Redactor

SECRET = "hunter2-canary"


def test_a_table_is_shown_by_its_columns() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"rank": [1, 2], "share": [2.5, 0.5]})
    assert describe_variable("t", table) == (
        "t: pandas.DataFrame, 2 rows, 2 columns = {'rank' (int64): [1, 2], 'share' (float64): [2.5, 0.5]}"
    )
    wide = pandas.DataFrame(numpy.zeros((1000, 500)))
    assert describe_variable("t", wide, 140).endswith(
        "{0 (float64): [0.0, 0.0, 0.0, ...], 1 (float64): [0.0, 0.0, 0.0, ...], ...}"
    )
    series = describe_variable("s", table["rank"])
    assert series == "s: pandas.Series, 2 items, dtype int64 = [1, 2]"


def test_a_block_with_data_is_shown_a_table_whole_or_not_at_all() -> None:
    pandas = pytest.importorskip("pandas")
    program = Program('''
        def judge(x):
            """natural(effects="answer")
            Put into <:y: bool> whether <x> is urgent.
            """
            return y
    ''')
    for value, end in (
        (pandas.DataFrame({"n": range(300), "k" * 90: range(300)}), "298, 299]}"),
        (pandas.Series(range(300)), "298, 299]"),
    ):
        assert program.call("judge", value, says=[{"y": True}]) is True
        assert end in program.told()[0]
    shortened = pandas.Index([n * n for n in range(500)])
    with pytest.raises(njrt.PolicyError, match=r"holds `Index\(\["):
        program.call("judge", shortened, says=[], authority="strict")


def test_the_index_of_a_table_is_shown() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"city": ["Oslo", "Rome"], "size": [1, 3]})
    named = table.set_index("city")
    assert render_value(named) == "{'city' (index): ['Oslo', 'Rome'], 'size' (int64): [1, 3]}"
    assert render_value(named["size"]) == "{'Oslo': 1, 'Rome': 3}"
    assert render_value(table[1:]).startswith("{index: [1], 'city' (")
    assert render_value(table["size"][1:]) == "{1: 3}"
    many = pandas.Series(range(100), index=range(1, 101))
    assert "= {1: 0, 2: 1, " in describe_variable("s", many, 120)
    assert "index: [1, 2, 3, " in describe_variable("t", many.to_frame("n"), 140)
    both = table.set_index(["city", "size"])
    both["n"] = [5, 6]
    assert "{'city' (index): ['Oslo', 'Rome'], 'size' (index): [1, 3], " in render_value(both)


def look_at(value: Any) -> list[str]:
    shown = [value, [value], {"a": value}, types.SimpleNamespace(a=value), type(value)]
    texts = [describe_variable("x", item, budget) for item in shown for budget in (80, 1000, 9000)]
    texts += [write(item, 500) for item in shown for write in (render_value, write_brief)]
    redactor = Redactor()
    redactor.scan([("x", value)])
    return texts


def test_sqlalchemy_is_never_queried() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    orm = pytest.importorskip("sqlalchemy.orm")
    from sqlalchemy.ext.associationproxy import association_proxy

    class Base(orm.DeclarativeBase):
        pass

    class Author(Base):
        __tablename__ = "authors"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        name = sqlalchemy.Column(sqlalchemy.String)
        password = sqlalchemy.Column(sqlalchemy.String)
        biography = orm.deferred(sqlalchemy.Column(sqlalchemy.String))
        books = orm.relationship("Book", back_populates="author")
        titles = association_proxy("books", "title")

        def __repr__(self) -> str:
            return f"Author({self.name}, {self.books}, {self.biography})"

        def greet(self) -> str:
            """Say hello."""
            return "hello"

    class Book(Base):
        __tablename__ = "books"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        title = sqlalchemy.Column(sqlalchemy.String)
        author_id = sqlalchemy.Column(sqlalchemy.ForeignKey("authors.id"))
        author = orm.relationship("Author", back_populates="books")

    engine = sqlalchemy.create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(Author(name="Ann", password=SECRET, books=[Book(title="One")]))
        session.commit()
    queries: list[str] = []
    with orm.Session(engine) as session:
        author = session.scalars(sqlalchemy.select(Author)).one()
        book = session.scalars(sqlalchemy.select(Book)).one()
        expired = session.scalars(sqlalchemy.select(Book)).one()
        titles = author.titles
        row = session.execute(sqlalchemy.select(Author.name, Author.password)).one()
        session.expire(author, ["books"])
        values = [
            author, book, [book], session, session.query(Author), session.query(Author).filter_by(name="Ann"), titles, row,
            sqlalchemy.select(Author), engine, engine.url, Author.books, Author, session.connection(), sqlalchemy.inspect(book),
            sqlalchemy.make_url(f"postgresql://u:{SECRET}@h/d"),
        ]  # fmt: skip
        sqlalchemy.event.listen(engine, "before_cursor_execute", lambda *a: queries.append(a[2]))
        texts = [text for value in values for text in look_at(value)]
        session.expire(expired)
        texts += look_at(expired)
        assert queries == []
        assert SECRET not in "\n".join(texts)
        assert describe_variable("a", author, 500) == (
            "a: Author = Author(id=1, name='Ann', password=<redacted>)"
        )
        assert describe_variable("r", row) == "r: Row = Row(name='Ann', password=<redacted>)"


def test_django_is_never_queried() -> None:
    django = pytest.importorskip("django")
    from django.conf import settings

    if not settings.configured:
        settings.configure(
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
            SECRET_KEY=SECRET,
            DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        )
        django.setup()
    from django.core.paginator import Paginator
    from django.db import connection, models
    from django.utils.functional import SimpleLazyObject

    class Author(models.Model):
        name = models.CharField(max_length=9)
        password = models.CharField(max_length=99)

        class Meta:
            app_label = "library"

        def __str__(self) -> str:
            return f"{self.name} {list(self.book_set.all())}"

    class Book(models.Model):
        title = models.CharField(max_length=9)
        text = models.CharField(max_length=9, default="t")
        author = models.ForeignKey(Author, models.CASCADE)

        class Meta:
            app_label = "library"

        def __repr__(self) -> str:
            return f"Book({self.author.name})"

        def read(self) -> str:
            """Read it."""
            return self.text

    with connection.schema_editor() as editor:
        editor.create_model(Author)
        editor.create_model(Book)
    Author.objects.create(name="Ann", password=SECRET).book_set.create(title="One")
    author, book = Author.objects.get(), Book.objects.get()
    values = [
        author, book, Book.objects.defer("text").get(), Book.objects.all(), Book.objects.filter(author__name="Ann").values("title"),
        Book.objects, author.book_set, author.book_set.all(), Book.objects.raw("select * from library_book"), Book,
        Paginator(Book.objects.order_by("id"), 1), Paginator(Book.objects.order_by("id"), 1).page(1), Book.objects.all().iterator(),
        SimpleLazyObject(lambda: Book.objects.get()), connection, Book._meta,
    ]  # fmt: skip

    def refuse(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        raise AssertionError(f"a query ran: {sql}")

    with connection.execute_wrapper(refuse):
        texts = [text for value in values for text in look_at(value)]
    assert "a query ran" not in "\n".join(texts)
    assert SECRET not in "\n".join(texts)
    assert describe_variable("b", book) == (
        "b: Book = Book(id=1, title='One', text='t', author_id=1)"
    )
    assert describe_variable("q", Book.objects.all()) == "q: QuerySet = <QuerySet>"


def test_pandas_columns_with_secrets() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"name": ["a"], "password": [SECRET]})
    assert SECRET not in describe_variable("t", table)
    assert SECRET not in describe_variable("t", table["password"])
    named = table.set_index("password")
    assert SECRET not in describe_variable("t", named)
    assert SECRET not in describe_variable("t", named["name"])
