"""Start a tritonserver, look after it, stop it, and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

from ge_engine.model_file import FROZEN
from ge_engine.npu_ge.command_line import CommandLine
from ge_engine.npu_ge.dump import DATA, GRAPHS
from ops.errors import ServerError

from .backend_directory import STAND_IN, BackendDirectory, backend_directory
from .find_server import Installation, find_server
from .lock import loading
from .ports import Ports, free_ports
from .processes import Stub
from .releases import DEFAULT_TARGET, TARGETS
from .rest import Rest
from .running import Running
from .server_folder import ServerFolder
from .server_log import reasons
from .stub_environment import stub_environment
from .watch import Watch

CONTROLS = ("none", "poll", "explicit")
_PORT_TAKEN = "already in use"
_ATTEMPTS = 5  # to find three ports that nobody takes before the server does
_PACE_S = 0.05  # between two questions whether it is ready; its end wakes at once
_NOT_KEPT = ("backends", "lib")  # of the folder of a server


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
    server's log, which stays for a day unless keep_log is False; a host stage process that dies is noticed, and its
    model loaded again.
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
        self.keep_log = True
        self._process: Running | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> Server:
        if not self.repository.is_dir():
            raise ServerError(f"{self.repository} is no folder", fix="name a model repository")
        server = find_server(self.target, self.say)
        frozen = any(self.repository.glob(f"*/**/*{FROZEN}"))
        environment = stub_environment(server, self.environment, self.say, frozen=frozen)
        self._held = ServerFolder()
        self.folder, self.log = self._held.path, self._held.log
        backends = backend_directory(
            server, environment.release, self.folder / "backends", self._npu_ge_settings(), self.stand_in
        )
        for dumps in (DATA, GRAPHS):  # the server is started elsewhere, but for its user it is here
            if dumps.is_dir() or (dumps == GRAPHS and not backends.real):  # the stand-in makes that one
                (self.folder / dumps).symlink_to(dumps.resolve())
        self.say(f"tritonserver: {server.program} ({server.found})")
        self.say(f"host stages: Python {environment.release} in {environment.prefix}")
        self.say(f"npu_ge: {backends}")
        self.say(f"log: {self.log}")
        variables = environment.variables(self.folder / "lib", server.libraries)
        self._launch = partial(self._run, server, backends, variables)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def _running(self) -> Running:
        assert self._process is not None, "the server was not started"
        return self._process

    def wait(self) -> None:
        """Until the server ends. Errors: ServerError when it does so by itself."""
        raise self._failed(f"the server ended by itself ({self._running.ended()})")

    def load(self, model: str) -> None:
        """Load a model (with control="explicit"), while no other server of this machine does.

        Errors: ServerError with the server's reason.
        """
        with loading(self.say):
            self.rest.load(model)

    def restart(self) -> None:
        """Start it again, on the same ports: for a server that has ended by itself.

        Errors: ServerError when it does not come up.
        """
        self._end()
        self.wanted = self.ports
        self._start()

    def stop(self) -> None:
        """End the server, what it has started, and its shared memory. The log stays where it is to be kept."""
        self._end()
        for dumps in (DATA, GRAPHS):
            (self.folder / dumps).unlink(missing_ok=True)
        for path in [self.folder / name for name in _NOT_KEPT] if self.keep_log else [self.folder]:
            shutil.rmtree(path, ignore_errors=True)
        self._held.close()

    def _end(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()
        if self._process is not None:
            self._process.end(watch.regions if watch is not None else set())
        if watch is not None:
            watch.join()

    def _run(
        self, server: Installation, backends: BackendDirectory, variables: Mapping[str, str], ports: Ports
    ) -> Running:
        command = [str(server.program), *self._arguments(ports, backends)]
        return Running(command, variables, self.folder, self.log)

    def _start(self) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            ports = free_ports(self.wanted, self.address)
            with loading(self.say):
                self._process = self._launch(ports)
                if self._comes_up(ports):
                    break
            if attempt == _ATTEMPTS or self.wanted == ports:
                taken = self._failed("another process has the server's port")
                raise ServerError(taken.message, fix="use other ports; 0 stands for any that is free")
        version = self.rest.version()
        if version != TARGETS.get(self.target, version):
            self.say(f"note: the server is {version}, not {TARGETS[self.target]} (Triton {self.target})")
        self._watch = Watch(self.pid, self._serving, self._reload, self.say)
        self._watch.start()

    def _comes_up(self, ports: Ports) -> bool:
        """Whether the server becomes ready; False when another process took one of its ports."""
        self.ports = ports
        host = f"[{self.address}]" if ":" in self.address else self.address
        self.url, self.grpc_url, self.metrics_url = (f"{host}:{port}" for port in ports)
        self.rest = Rest(self.url)
        try:
            self._await_ready()
        except ServerError:
            if _PORT_TAKEN not in self._running.said():
                raise
            self._running.end()
            return False
        return True

    def _await_ready(self) -> None:
        deadline = time.monotonic() + self.start_timeout_s
        while time.monotonic() < deadline:
            ended = self._running.ended(_PACE_S)
            if ended:
                raise self._failed(f"the server did not start ({ended})")
            if self.rest.ready():
                return
        raise self._failed(f"the server was not ready within {self.start_timeout_s:g} s")

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

    def _npu_ge_settings(self) -> CommandLine:
        """What `--backend-config npu_ge,key=value` and the other options say to npu_ge."""
        pairs = (setting.partition(",") for setting in self.backend_config)
        settings = (rest.partition("=") for backend, _, rest in pairs if backend == "npu_ge")
        automatic = "--disable-auto-complete-config" not in self.options
        return CommandLine({key: value for key, _, value in settings}, auto_complete=automatic)

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

    def _failed(self, what: str) -> ServerError:
        text = self._running.said()
        found = reasons(text) or text.splitlines()[-5:]
        lines = "\n  ".join(line for reason in found for line in reason.splitlines())
        return ServerError(f"{what}:\n  {lines}", fix=f"the whole log is {self.log}")
