"""The stop of one process of a cluster: its ports are free afterwards."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Final

from hack.cluster.process import Command, Process
from tests.runner.ports import new_port
from tests.support.wait.eventually import eventually

# After SIGTERM its main thread ends at once, and another thread holds the port a little longer.
SLOW_END: Final = """
import ctypes, os, signal, socket, sys, threading, time

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
ending = threading.Event()


def end_late():
    ending.wait()
    time.sleep(1)
    os._exit(0)


def end_main_thread(*_):
    ending.set()
    ctypes.CDLL(None).pthread_exit(None)


threading.Thread(target=end_late).start()
signal.signal(signal.SIGTERM, end_main_thread)
print("listening", flush=True)
while True:
    signal.pause()
"""


async def test_a_stopped_process_has_freed_its_port(tmp_path: Path) -> None:
    port = new_port()
    command = Command("slow", (sys.executable, "-c", SLOW_END, str(port)))
    started, process = Process(command, tmp_path), Process(command, tmp_path)
    started.start()
    await eventually(lambda: asyncio.to_thread(process.log_tail), lambda text: "listening" in text)
    await process.stop()  # as a later command does, which is not its parent
    assert started.pid is None
    with socket.create_server(("127.0.0.1", port)):
        pass  # the port can be used again
