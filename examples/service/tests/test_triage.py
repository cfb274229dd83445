"""The service without a model: replies are replayed from a recording, or given by the test."""

import pytest
from fastapi.testclient import TestClient

import njrt
from triage.admission import Gate
from triage.service import make_app
from triage.settings import ServiceSettings


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def client(tmp_path, gate):
    settings = ServiceSettings(database=f"sqlite:///{tmp_path / 'test.db'}")
    with TestClient(make_app(settings, gate)) as client:
        yield client


@pytest.mark.njc_recording("recordings/messages.jsonl")
@pytest.mark.parametrize(
    ("message", "team", "urgent"),
    [
        ("My parcel has not arrived; it was sent two weeks ago.", "shipping", True),
        ("I was charged twice for my subscription.", "billing", True),
        ("Our shop is down since this morning and cannot sell anything!", "technical", True),
    ],
)
def test_messages_reach_their_team(client, message, team, urgent):
    answer = client.put("/tickets/a1", json={"message": message})
    assert (answer.status_code, answer.json()) == (
        201,
        {"id": "a1", "team": team, "urgent": urgent},
    )
    assert client.get("/tickets/a1").json() == answer.json()


def test_the_model_is_asked_once_for_a_ticket(client):
    model = njrt.Scripted(['{"team": "billing", "urgent": false}'])
    with njrt.using(model=model):
        answers = [client.put("/tickets/a1", json={"message": "Hello"}) for _ in range(2)]
        other = client.put("/tickets/a1", json={"message": "Goodbye"})
    assert [answer.status_code for answer in answers] == [201, 200]
    assert other.status_code == 409
    assert len(model.requests) == 1


def test_a_model_that_does_not_answer_is_no_error_of_the_client(client):
    with njrt.using(model=njrt.Scripted([njrt.ServerError("no reply from http://models.example")])):
        answer = client.put("/tickets/a1", json={"message": "Hello"})
    assert (answer.status_code, answer.json()["error"]) == (503, "model_unavailable")
    assert answer.headers["retry-after"] == "2"
    assert "models.example" not in answer.text
    assert client.get("/tickets/a1").status_code == 404


def test_an_instance_that_stops_is_alive_but_not_ready(client, gate):
    assert client.get("/health/ready").status_code == 200
    gate.close()
    answer = client.put("/tickets/a1", json={"message": "Hello"})
    assert (answer.status_code, answer.headers["connection"]) == (503, "close")
    assert client.get("/health/ready").status_code == 503
    assert client.get("/health/live").status_code == 200
