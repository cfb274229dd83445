# compiled by njc 0.3.0 from classes_of_libraries.njpy (sha256 f660e07fcb5ddc03, abi 1)
# do not edit: change classes_of_libraries.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj
import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from classes_of_libraries.models import Order
from .models import Customer


@dataclass
class Report:
    frame: pd.DataFrame


def a_class_of_a_library(df: pd.DataFrame, folders: dict[str, list[Path]]):
    _nj.run(
        """natural
    Drop the empty rows of <df>, and list the files of <folders>.
    """,
        lambda: (df, folders),
        at="classes_of_libraries.njpy:18",
        guarded="the type of `df` has a class of another package, `pandas.DataFrame`",
    )


def an_iterator(lines: Iterator[str], found: list[str]):
    _nj.run(
        """natural
    Put the first of <lines> into <found>.
    """,
        lambda: (lines, found),
        at="classes_of_libraries.njpy:24",
        guarded="the type of `lines` has an iterator, `collections.abc.Iterator`",
    )


def the_owner_of_an_attribute(df: pd.DataFrame):
    _nj.run(
        """natural
    Sort <df.columns>.
    """,
        lambda: (df,),
        parts="df.columns",
        at="classes_of_libraries.njpy:30",
        guarded="the type of `df.columns` has a class of another package, `pandas.DataFrame`",
    )


def a_private_attribute(report: Report):
    _nj.run(
        """natural
    Sort <report._rows>.
    """,
        lambda: (report,),
        parts="report._rows",
        at="classes_of_libraries.njpy:36",
        guarded="contained code has no attribute with an underscore, such as `report._rows`",
    )


def an_output(rows: list[str]):
    table: pd.DataFrame
    _nj.run(
        """natural
    Put a table of <rows> into <:table: pd.DataFrame>.
    """,
        lambda: (rows, table),
        writes="table",
        types=lambda: {"table": pd.DataFrame},
        at="classes_of_libraries.njpy:42",
        guarded="the type of `table` has a class of another package, `pandas.DataFrame`",
    )
    return table


def own_data(days: list[datetime.date], order: Order, customer: Customer, it: Report):
    _nj.run(
        """natural
    Change <days>, <order>, <customer> and <it> with <os.path.join> and <Path.cwd>.
    """,
        lambda: (days, order, customer, it, os, Path),
        uses="os.path.join Path.cwd",
        at="classes_of_libraries.njpy:49",
    )


def data_alone(path: Path):
    name: str
    _nj.run(
        """natural(effects="answer")
    Put the name of <path> into <:name: str>.
    """,
        lambda: (path, name),
        writes="name",
        types=lambda: {"name": str},
        at="classes_of_libraries.njpy:55",
        effects="answer",
    )
    return name


# njc lines 1=1 5:1 23=18 24:19 26=18 30:21 34=24 35:25 37=24 41:27 45=30 46:31 48=30 53:33 57=36 58:37 60=36 65:39 69=42 71:43 73=42 79:45 84=49 85:50 87=49 91:52 95=55 97:56 99=55 105:58 106=59 sha256 9082dafd57ffa2e9
