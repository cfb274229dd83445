# compiled by njc 0.2.0 from classes_of_libraries.njpy (sha256 89dd0247f1a304ec, abi 1)
# do not edit: change classes_of_libraries.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj
import datetime
import os
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
        at="classes_of_libraries.njpy:17",
        guarded="the type of `df` has a class of another package, `pandas.DataFrame`",
    )


def the_owner_of_an_attribute(df: pd.DataFrame):
    _nj.run(
        """natural
    Sort <df.columns>.
    """,
        lambda: (df,),
        parts="df.columns",
        at="classes_of_libraries.njpy:23",
        guarded="the type of `df.columns` has a class of another package, `pandas.DataFrame`",
    )


def a_private_attribute(report: Report):
    _nj.run(
        """natural
    Sort <report._rows>.
    """,
        lambda: (report,),
        parts="report._rows",
        at="classes_of_libraries.njpy:29",
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
        at="classes_of_libraries.njpy:35",
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
        at="classes_of_libraries.njpy:42",
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
        at="classes_of_libraries.njpy:48",
        effects="answer",
    )
    return name


# njc lines 1=1 5:1 22=17 23:18 25=17 29:20 33=23 34:24 36=23 41:26 45=29 46:30 48=29 53:32 57=35 59:36 61=35 67:38 72=42 73:43 75=42 79:45 83=48 85:49 87=48 93:51 94=52 sha256 807725eea106ebdb
