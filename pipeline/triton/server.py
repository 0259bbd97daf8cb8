"""Start a tritonserver, look after it, stop it, and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from ops.errors import ServerError

from .backend_directory import STAND_IN, BackendDirectory, backend_directory
from .find_server import Installation, find_server
from .lock import loading
from .ports import Ports, free_ports
from .processes import Stub, end_session, remove
from .rest import Rest
from .schema import DEFAULT_TARGET, TARGETS
from .server_log import reasons
from .stub_environment import StubEnvironment, stub_environment
from .watch import Watch

CONTROLS = ("none", "poll", "explicit")
_PORT_TAKEN = "already in use"
_ATTEMPTS = 5  # to find three ports that nobody takes before the server does
_PACE_S = 0.05  # between two questions whether it is ready; its end wakes at once
_EXIT_S = 40  # the server itself gives requests and models 30 s


class Server:
    """A tritonserver on a model repository, from `with` to its end.

    target:          the release to use where several can be had
    control, load:   "explicit" loads those models at the start and others when asked; "poll" what the repository holds
                     at any time; "none" what it holds now
    address, ports:  0 stands for any free port
    backend_config:  as "npu_ge,key=value"; options: passed as they are
    environment:     of the stubs, instead of one in the user's cache; stand_in: a folder with model.py for npu_ge
    say:             told what was found, what is being waited for, and what happens to the host stages

    The repository's code runs with the rights of this process. `url` and `grpc_url` are HOST:PORT; `log` is the
    server's log, which stays; a host stage process that dies is noticed, and its model loaded again.
    Errors: ServerError when the server cannot be found or does not come up, with the reasons from its log.
    """

    def __init__(
        self,
        repository: Path | str,
        *,
        target: str = DEFAULT_TARGET,
        control: str = "explicit",
        load: Sequence[str] = ("*",),
        address: str = "127.0.0.1",
        ports: Ports = Ports(),  # noqa: B008 - a tuple
        backend_config: Sequence[str] = (),
        options: Sequence[str] = (),
        environment: Path | None = None,
        stand_in: Path = STAND_IN,
        start_timeout_s: float = 300,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        assert control in CONTROLS, control
        self.repository = Path(repository).resolve()
        self.target = target
        self.control = control
        self.models = tuple(load)
        self.address = address
        self.wanted = ports
        self.backend_config = tuple(backend_config)
        self.options = tuple(options)
        self.environment = environment
        self.stand_in = stand_in
        self.start_timeout_s = start_timeout_s
        self.say = say
        self._watch: Watch | None = None

    def __enter__(self) -> Server:
        if not self.repository.is_dir():
            raise ServerError(f"{self.repository} is no folder", fix="name a model repository")
        server = find_server(self.target, self.say)
        environment = stub_environment(server, self.environment, self.say)
        self.folder = Path(tempfile.mkdtemp(prefix="gepipe-serve-"))
        self.log = self.folder / "server.log"
        backends = backend_directory(server, environment.release, self.folder / "backends", self.stand_in)
        self.say(f"tritonserver: {server.program} ({server.found})")
        self.say(f"host stages: Python {environment.release} in {environment.prefix}")
        self.say(f"npu_ge: {backends}")
        self.say(f"log: {self.log}")
        try:
            self._start(server, environment, backends)
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self) -> None:
        """Until the server ends. Errors: ServerError when it does so by itself."""
        code = self._process.wait()
        raise self._failed(f"the server ended by itself ({_ending(code)})")

    def load(self, model: str) -> None:
        """Load a model (with control="explicit"), while no other server of this machine does.

        Errors: ServerError with the server's reason.
        """
        with loading(self.say):
            self.rest.load(model)

    def stop(self) -> None:
        """End the server, what it has started, and its shared memory. The log stays."""
        if self._watch is not None:
            self._watch.stop()
        self._end()
        if self._watch is not None:
            self._watch.join()
        self._clear()

    def _start(self, server: Installation, environment: StubEnvironment, backends: BackendDirectory) -> None:
        variables = self._variables(server, environment)
        for attempt in range(1, _ATTEMPTS + 1):
            ports = free_ports(self.wanted, self.address)
            command = [str(server.program), *self._arguments(ports, backends)]
            with loading(self.say), self.log.open("wb") as log:
                self._launch(command, variables, log)
                if self._comes_up(ports):
                    break
            if attempt == _ATTEMPTS or self.wanted == ports:
                taken = self._failed("another process has the server's port")
                raise ServerError(taken.message, fix="use other ports; 0 stands for any that is free")
        self._check_release()
        self._watch = Watch(self.pid, self._serving, self._reload, self.say)
        self._watch.start()

    def _launch(self, command: list[str], variables: Mapping[str, str], log: IO[bytes]) -> None:
        # A session of its own: Ctrl-C is for this process, which then stops the server; and what the server starts
        # can be told from all else, even when the server is gone. Relative paths of a backend end in that folder.
        self._process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _comes_up(self, ports: Ports) -> bool:
        """Whether the server becomes ready; False when another process took one of its ports."""
        self.ports = ports
        host = f"[{self.address}]" if ":" in self.address else self.address
        self.url, self.grpc_url, self.metrics_url = (f"{host}:{port}" for port in ports)
        self.rest = Rest(self.url)
        try:
            self._await_ready()
        except ServerError:
            self._end()
            if _PORT_TAKEN in self._text():
                return False
            raise
        except BaseException:
            self._end()
            raise
        return True

    def _await_ready(self) -> None:
        deadline = time.monotonic() + self.start_timeout_s
        while True:
            try:
                code = self._process.wait(_PACE_S)
            except subprocess.TimeoutExpired:
                if self.rest.ready():
                    return
                if time.monotonic() > deadline:
                    raise self._failed(f"the server was not ready within {self.start_timeout_s:g} s") from None
            else:
                raise self._failed(f"the server did not start ({_ending(code)})")

    def _arguments(self, ports: Ports, backends: BackendDirectory) -> list[str]:
        control = {
            "none": [],
            "poll": ["--repository-poll-secs=1"],
            "explicit": [f"--load-model={model}" for model in self.models],
        }
        return [
            f"--model-repository={self.repository}",
            f"--backend-directory={backends.path}",
            f"--model-control-mode={self.control}",
            *control[self.control],
            *(f"--{name}-address={self.address}" for name in ports._fields),
            *(f"--{name}-port={port}" for name, port in ports._asdict().items()),
            *(f"--backend-config={setting}" for setting in self.backend_config),
            *self.options,
        ]

    def _variables(self, server: Installation, environment: StubEnvironment) -> dict[str, str]:
        """The stubs take their Python from PATH, and its library from the loader's path: that library, no other."""
        libraries = self.folder / "lib"
        libraries.mkdir()
        (libraries / environment.library.name).symlink_to(environment.library)
        before = os.environ.get("LD_LIBRARY_PATH")
        paths = [str(libraries), *map(str, server.libraries), *([before] if before else [])]
        mine = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
        return {
            **mine,
            "PATH": os.pathsep.join([str(environment.bin), os.environ.get("PATH", os.defpath)]),
            "LD_LIBRARY_PATH": os.pathsep.join(paths),
        }

    def _check_release(self) -> None:
        version = self.rest.version()
        if version != TARGETS.get(self.target, version):
            self.say(f"note: the server is {version}, not {TARGETS[self.target]} (Triton {self.target})")

    def _serving(self, model: str) -> bool:
        try:
            return any(row.name == model and row.state == "READY" for row in self.rest.index())
        except ServerError:
            return False

    def _reload(self, dead: Stub) -> None:
        """A model is loaded again only if its files have changed; a new time on its folder counts as a change."""
        how = "reload it by hand"
        try:
            if self.control != "none":
                self.say(f"loading {dead.model} again")
                os.utime(dead.folder)
            if self.control == "explicit":
                self.load(dead.model)
            if self.control != "none":
                return
        except (OSError, ServerError) as error:
            how = f"it could not be loaded again: {error}"
        self.say(f"{dead.model} answers no more; {how}")

    def _end(self) -> None:
        seen = self._watch.regions if self._watch is not None else set()
        self._process.terminate()
        try:
            self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        remove(seen | end_session(self._process.pid))

    def _clear(self) -> None:
        for name in ("backends", "lib"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def _failed(self, what: str) -> ServerError:
        found = reasons(self._text()) or self._text().splitlines()[-5:]
        lines = "\n  ".join(line for reason in found for line in reason.splitlines())
        return ServerError(f"{what}:\n  {lines}", fix=f"the whole log is {self.log}")


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
