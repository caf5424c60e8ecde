"""A process under a memory watchdog: what it prints, the most memory it held, whether it was stopped."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEMORY_LIMIT = int(3.8e9)
POLL_SECONDS = 0.3


@dataclass
class Run:
    """What a process left behind."""

    lines: list[str] = field(default_factory=list)
    peak: int = 0
    seconds: float = 0.0
    status: int = 0
    stopped_for_memory: bool = False


def resident(pid: int) -> int:
    """Bytes of memory held by one process; 0 once it is gone."""
    proc = Path(f"/proc/{pid}/status")
    if proc.parent.parent.is_dir() and Path("/proc/self/status").exists():
        try:
            lines = proc.read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return int(shown.strip() or 0) * 1024


def watched(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    on_line: Callable[[str], None] = lambda line: None,
    limit: int = MEMORY_LIMIT,
) -> Run:
    """Run the command in the folder, stop it when it holds more than `limit` bytes."""
    run, started = Run(), time.monotonic()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:

        def guard() -> None:
            while process.poll() is None:
                held = resident(process.pid)
                run.peak = max(run.peak, held)
                if held > limit:
                    run.stopped_for_memory = True
                    process.kill()
                time.sleep(POLL_SECONDS)

        watchdog = threading.Thread(target=guard, daemon=True)
        watchdog.start()
        assert process.stdout is not None
        for line in process.stdout:
            run.lines.append(line.rstrip("\n"))
            on_line(run.lines[-1])
        run.status = process.wait()
        watchdog.join()
    run.seconds = time.monotonic() - started
    return run
