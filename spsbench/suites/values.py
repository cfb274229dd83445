"""The types of the answers to byLLM's tasks: what its programs declare as objects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Personality(Enum):
    """Whom a person is."""

    INTROVERT = "Introvert"
    EXTROVERT = "Extrovert"


@dataclass
class PublicPerson:
    """A person of public life who is dead."""

    full_name: str
    year_of_death: int
    personality: Personality


@dataclass
class Chore:
    """Something to be done."""

    description: str
    minutes: int
    priority: int
    """From 1 to 10."""


@dataclass
class Singer:
    """A singer."""

    name: str
    age: int
    top_2_songs: list[str]


@dataclass
class Employer:
    """A company, and its place."""

    name: str
    location: str


@dataclass
class Employee:
    """A person with a job."""

    name: str
    age: int
    employer: Employer
    job: str
