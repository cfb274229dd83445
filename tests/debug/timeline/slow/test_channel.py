"""The channel between the debugger and the program, when one of its sides goes at a bad moment."""

from __future__ import annotations

import array
import fcntl
import os
import struct
import termios
import threading
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from njc.debug.timeline.channel import ChannelClosedError, ControlChannel
from waiting import HANG_SECONDS, wait_until

MESSAGE = b'{"kind": "stop"}'
BYTES = struct.pack("!i", len(MESSAGE)) + MESSAGE
"""A message as a connection writes it: its length, then the text."""


def count_unread_bytes(connection: Connection) -> int:
    unread = array.array("i", [0])
    fcntl.ioctl(connection.fileno(), termios.FIONREAD, unread)
    return unread[0]


@pytest.mark.parametrize("written", range(len(BYTES)))
def test_a_channel_that_another_thread_closes_while_it_is_read_has_ended(written: int) -> None:
    here, there = Pipe()
    kept = Connection(os.dup(here.fileno()))
    channel = ControlChannel(here)
    raised: list[Exception] = []
    received: list[object] = []

    def receive() -> None:
        try:
            received.append(channel.receive())
        except Exception as error:
            raised.append(error)

    reader = threading.Thread(target=receive, daemon=True)
    os.write(there.fileno(), BYTES[:written])
    reader.start()
    wait_until(lambda: count_unread_bytes(kept) == 0)
    channel.close()
    with suppress(OSError):
        os.write(there.fileno(), BYTES[written:])
    there.close()
    reader.join(HANG_SECONDS)
    assert not reader.is_alive()
    assert [type(error) for error in raised] in ([ChannelClosedError], [])
    assert len(raised) + len(received) == 1
    kept.close()


def test_a_closed_channel_says_so_at_every_call() -> None:
    here, there = Pipe()
    channel = ControlChannel(here)
    channel.close()
    channel.close()
    assert channel.has_message()
    for call in (channel.receive, lambda: channel.send({})):
        with pytest.raises(ChannelClosedError):
            call()
    there.close()


def test_a_thread_that_waits_ends_with_its_channel_and_reads_from_no_later_one() -> None:
    ended = []
    for _ in range(50):
        here, there = Pipe()
        channel = ControlChannel(here)

        def wait(channel: ControlChannel = channel) -> None:
            with pytest.raises(ChannelClosedError):
                channel.receive()
            ended.append(True)

        reader = threading.Thread(target=wait, daemon=True)
        reader.start()
        channel.close()
        del channel, here
        later, other = Pipe()
        other.send_bytes(MESSAGE)
        reader.join(HANG_SECONDS)
        assert later.recv_bytes() == MESSAGE
        for end in (there, later, other):
            end.close()
    assert len(ended) == 50
