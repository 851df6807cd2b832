# SPDX-License-Identifier: Apache-2.0
"""Runs the test Collector: own folder, ports chosen by the kernel, stopped by its own process id.

As a program: `collector.py FOLDER` builds it if needed, starts it, prints its endpoints, and stops
it when standard input ends, for trying things by hand.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
START_SECONDS = 60
STOP_SECONDS = 60
POLL_SECONDS = 0.02
SKIP_STATUS = 77


class CollectorError(Exception):
    """The Collector did not start, did not stop, or ended by itself."""


class CollectorUnavailable(Exception):
    """This machine cannot build the Collector; the text says why."""


def build():
    """Returns the path of the Collector's binary, which is built when it is not there yet."""
    result = subprocess.run([HERE / "build.sh"], stdout=subprocess.PIPE, text=True, check=False)
    answer = result.stdout.strip()
    if result.returncode == SKIP_STATUS:
        raise CollectorUnavailable(answer)
    if result.returncode != 0:
        raise CollectorError(answer or f"build.sh ended with status {result.returncode}")
    return pathlib.Path(answer.splitlines()[-1])


class Collector:
    """One running Collector.

    http, grpc   "127.0.0.1:PORT" of its receivers, known once it runs
    traces, logs the files that it writes, complete once it has stopped
    """

    def __init__(self, binary, folder):
        self.binary = pathlib.Path(binary)
        self.folder = pathlib.Path(folder).resolve()
        self.traces = self.folder / "traces.jsonl"
        self.logs = self.folder / "logs.jsonl"
        self.own_log = self.folder / "collector.log"
        self.http = None
        self.grpc = None
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        if self._process is None:
            return
        if kind is None:
            self.stop()
        else:
            self._process.kill()
            self._process.wait()
            self._process = None

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        template = (HERE / "config.yaml.in").read_text(encoding="utf-8")
        config = self.folder / "config.yaml"
        folder = str(self.folder).replace("'", "''")
        config.write_text(template.replace("@FOLDER@", folder), encoding="utf-8")
        with open(self.own_log, "wb") as log:
            self._process = subprocess.Popen(
                [self.binary, "--config", f"file:{config}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        try:
            self._wait_until_ready()
        except BaseException:
            self._process.kill()
            self._process.wait()
            self._process = None
            raise

    def stop(self):
        """Ends the Collector as a supervisor would; its files are complete afterwards."""
        process, self._process = self._process, None
        early = process.poll()
        if early is not None:
            raise CollectorError(f"ended by itself with status {early}\n{self._log_tail()}")
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise CollectorError(f"did not stop in {STOP_SECONDS} s\n{self._log_tail()}") from None
        if status != 0:
            raise CollectorError(f"stopped with status {status}\n{self._log_tail()}")

    def _wait_until_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while not self._read_ports():
            status = self._process.poll()
            if status is not None:
                raise CollectorError(f"ended at start with status {status}\n{self._log_tail()}")
            if time.monotonic() > deadline:
                raise CollectorError(f"not ready in {START_SECONDS} s\n{self._log_tail()}")
            time.sleep(POLL_SECONDS)

    def _read_ports(self):
        """Reads the ports from the log; true once the Collector says that it is ready."""
        ready = False
        for line in self.own_log.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # the last line may be half written
            message = entry.get("msg", "") if isinstance(entry, dict) else ""
            if message == "Starting GRPC server":
                self.grpc = entry["endpoint"]
            elif message == "Starting HTTP server":
                self.http = entry["endpoint"]
            elif message.startswith("Everything is ready"):
                ready = True
        return ready and self.grpc is not None and self.http is not None

    def _log_tail(self):
        lines = self.own_log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"  collector| {line}" for line in lines[-20:])


def main(arguments):
    if len(arguments) != 1:
        print("usage: collector.py FOLDER", file=sys.stderr)
        return 2
    try:
        with Collector(build(), arguments[0]) as collector:
            print(f"http {collector.http}\ngrpc {collector.grpc}\n"
                  f"traces {collector.traces}\nlogs {collector.logs}", flush=True)
            sys.stdin.read()
    except CollectorUnavailable as reason:
        print(reason)
        return SKIP_STATUS
    except CollectorError as error:
        print(f"collector: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(sys.argv[1:]))
