"""Paimon (Java) in a separate process, which is started once and runs many histories."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histories.paimon.java_process import TABLE, serve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from histories.paimon.history import History, Step
    from histories.paimon.reads import Outcome, Read, Rows

FOLDER = Path(os.environ.get("FRAZIL_PAIMON_JAVA", Path(__file__).parents[3] / "target" / "interop" / "paimon"))
"""The folder where `make interop` installs the jars (`jars`) and JPype (`python`)."""
START_S = 60
ANSWER_S = 60


class OracleError(Exception):
    """Java did not respond, or failed with an error that is not Paimon's."""


def missing() -> str | None:
    """Return the missing prerequisites of Java, or None if it can be started."""
    if not list(FOLDER.glob("jars/paimon-bundle-*.jar")):
        return f"no Paimon (Java) in {FOLDER}: run `make interop`"
    if not (FOLDER / "python" / "jpype").is_dir() and importlib.util.find_spec("jpype") is None:
        return "no JPype: run `make interop`"
    return None if shutil.which("java") else "no Java"


class Oracle:
    """Java, and the folder where it creates tables, one at a time."""

    def __init__(self, place: Path, properties: Mapping[str, str] | None = None) -> None:
        """Start on first use; `properties` are those of the catalog besides the warehouse."""
        self._place = place
        self._properties = dict(properties or {})
        self._pipe: Any = None
        self._process: Any = None

    @property
    def table(self) -> Path:
        """Return the table of the last history."""
        return self._place / "db.db" / TABLE

    def run(self, history: History) -> Outcome:
        """Run a history; the table of the previous one is removed."""
        return self._ask("run", history, str(self._place), self._properties)

    def alter(self, location: Path, operations: Sequence[dict[str, Any]]) -> tuple[str | None, str | None]:
        """Apply operations to the schema of a table; return the new schema as JSON, or why Java refused them."""
        return self._ask("alter", str(location), list(operations))

    def adopt(self, steps: Sequence[Step], name: str) -> Outcome:
        """Perform steps on a table of another writer, `<place>/db.db/<name>`, which later reads refer to."""
        return self._ask("adopt", list(steps), str(self._place), self._properties, name)

    def read(self, reads: Sequence[Read]) -> list[Rows | str]:
        """Return the rows of each read in canonical form, or the reason why Java cannot read."""
        return self._ask("read", list(reads))

    def plain(self, *steps: Sequence[Any]) -> list[Any]:
        """Perform steps of `java_plain` on format tables and object tables; return their results, or Java's errors."""
        return self._ask("plain", steps, str(self._place))

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = None

    def _ask(self, *request: Any) -> Any:
        if self._process is None:
            self._start()
        self._pipe.send(request)
        return self._answer(ANSWER_S)

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(theirs, str(FOLDER)), daemon=True)
        self._process.start()
        theirs.close()
        self._answer(START_S)

    def _answer(self, seconds: float) -> Any:
        try:
            if not self._pipe.poll(seconds):
                raise OracleError(f"no answer in {seconds} seconds")
            answer = self._pipe.recv()
        except (OSError, EOFError) as error:
            self.close()
            raise OracleError("the process has ended") from error
        except OracleError:
            self._process.kill()
            self.close()
            raise
        if isinstance(answer, str):
            raise OracleError(answer)
        return answer
