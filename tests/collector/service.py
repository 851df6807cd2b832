# SPDX-License-Identifier: Apache-2.0
"""Starts a program of the tests as a supervisor would: a clean environment, its address read from
the line that it prints, the end by SIGTERM to its own process id."""

import os
import pathlib
import select
import signal
import subprocess
import time

START_SECONDS = 30


class ServiceError(Exception):
    """The program did not start, or did not end as it should."""


def environment(**settings):
    """The caller's environment without any OpenTelemetry or proxy setting, plus `settings`."""
    result = {key: value for key, value in os.environ.items()
              if not key.startswith("OTEL_") and not key.lower().endswith("_proxy")}
    result.update(settings)
    return result


class Service:
    """A running program that printed `listening HOST:PORT` on its standard output."""

    def __init__(self, arguments, settings, stderr_path):
        self.name = pathlib.Path(arguments[0]).name
        self.stderr_path = pathlib.Path(stderr_path)
        self.address = None
        with open(stderr_path, "wb") as stderr:
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                env=environment(**settings))
        try:
            self.address = self._read_address()
        except BaseException:
            self.kill()
            raise

    def _read_address(self):
        """Reads the raw pipe, since a buffered reader could hold the line back from select()."""
        deadline = time.monotonic() + START_SECONDS
        pipe = self._process.stdout.fileno()
        text = b""
        while True:
            for line in text.split(b"\n")[:-1]:
                if line.startswith(b"listening "):
                    return line.split()[1].decode("ascii")
            rest = deadline - time.monotonic()
            if rest <= 0 or not select.select([pipe], [], [], rest)[0]:
                raise ServiceError(f"{self.name}: no address in {START_SECONDS} s\n{self.tail()}")
            block = os.read(pipe, 4096)
            if not block:
                raise ServiceError(f"{self.name}: ended at start\n{self.tail()}")
            text += block

    def end(self, seconds):
        """SIGTERM; the program must end with status 0 within `seconds`."""
        process = self._process
        early = process.poll()
        if early is not None:
            raise ServiceError(f"{self.name}: ended by itself, status {early}\n{self.tail()}")
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServiceError(f"{self.name}: still there {seconds} s after SIGTERM\n"
                               f"{self.tail()}") from None
        if process.returncode != 0:
            raise ServiceError(f"{self.name}: status {process.returncode}\n{self.tail()}")

    def kill(self):
        """For clean-up after a failure; harmless once the program has ended."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def tail(self):
        text = self.stderr_path.read_text(encoding="utf-8", errors="replace")
        return "\n".join(f"  {self.name}| {line}" for line in text.splitlines()[-20:])
