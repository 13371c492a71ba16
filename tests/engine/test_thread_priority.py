"""Threads that give way have a lower priority than their process, whatever that one is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, threading
from engine.thread_priority import give_way

def work():
    give_way()
    print(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

os.nice({niceness} - os.nice(0))
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(os.getpriority(os.PRIO_PROCESS, os.getpid()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux alone")
@pytest.mark.parametrize(("niceness", "of_thread"), [(14, 19), (19, 19)])
def test_a_server_that_runs_at_low_priority_has_threads_that_give_way_to_it(niceness, of_thread):
    """A niceness of 5, whatever the process has, would raise it, which users may not do."""
    program = [sys.executable, "-c", SCRIPT.format(niceness=niceness)]
    run = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == [str(of_thread), str(niceness)]
