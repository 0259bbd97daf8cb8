"""Library: the module `acl`, imported when the first card is opened and initialised once in a process.

Its three manners of answering (a code; values and a code; a bare value) become one: a value, or a DeviceError that has
the call, the code and its meaning.
"""

from __future__ import annotations

import importlib
import os
import threading
from typing import Any

from ops import DeviceError

from .meanings import REPEAT_INITIALIZE, meaning_of

INSTALL = (
    "install the CANN toolkit that fits the card's driver, and load it into the environment: "
    "source /usr/local/Ascend/ascend-toolkit/set_env.sh"
)
_RAISED = (TypeError, ValueError, ArithmeticError, RuntimeError, SystemError)  # by a call that it does not take


class Library:
    """pyACL. shared: somebody else in this process has initialised it, and will finalise it.

    Errors: DeviceError where it cannot be imported or initialised.
    """

    def __init__(self) -> None:
        self._module = _module()
        self._functions: dict[str, Any] = {}
        self._pid = os.getpid()
        self._ready = False
        code = self.value("init")
        if code not in (0, REPEAT_INITIALIZE):
            raise self._failure("init", code)
        self.shared = code == REPEAT_INITIALIZE
        self._ready = True

    def do(self, name: str, *args: Any) -> None:
        """Call what answers with a code. Errors: DeviceError."""
        code = self.value(name, *args)
        if code:
            raise self._failure(name, code)

    def insist(self, name: str, *args: Any) -> None:
        """Call what ends something, twice if need be: what failed for a moment must not leak. Errors: DeviceError."""
        try:
            self.do(name, *args)
        except DeviceError:
            self.do(name, *args)

    def get(self, name: str, *args: Any) -> Any:
        """Call what answers with values and a code; the value, or a tuple of several. Errors: DeviceError."""
        answer = self.value(name, *args)
        if not isinstance(answer, tuple) or not isinstance(answer[-1], int):
            raise _strange(name, f"answers {answer!r}")
        if answer[-1]:
            raise self._failure(name, answer[-1])
        return answer[0] if len(answer) == 2 else answer[:-1]

    def value(self, name: str, *args: Any) -> Any:
        """Call what answers with a value alone. Errors: DeviceError where there is no such call, or it is another."""
        try:
            return self._function(name)(*args)
        except _RAISED as error:
            raise _strange(name, f"raises {type(error).__name__}: {error}") from error

    def make(self, name: str, *args: Any) -> Any:
        """Call what answers with a handle alone, which is nothing where it fails. Errors: DeviceError."""
        handle = self.value(name, *args)
        if not handle:
            raise DeviceError(f"acl.{name} made nothing", fix=meaning_of(200000).fix)
        return handle

    @property
    def in_fork(self) -> bool:
        """Whether this is a fork of the process that initialised it, which the driver does not know."""
        return os.getpid() != self._pid

    def check_process(self) -> None:
        """Errors: DeviceError in a fork."""
        if self.in_fork:
            raise DeviceError(
                f"process {self._pid} has opened the NPU, and this is {os.getpid()}, a fork of it",
                fix='open the first session after the fork, or start processes by "spawn"',
            )

    def finalize(self) -> None:
        """Errors: DeviceError."""
        if not self.shared and not self.in_fork:
            self.insist("finalize")

    def _function(self, name: str) -> Any:
        function = self._functions.get(name)
        if function is None:
            function = self._module
            for part in name.split("."):
                function = getattr(function, part, None)
            if function is None:
                raise DeviceError(f"this pyACL has no acl.{name}", fix="use CANN 8.0 or later")
            self._functions[name] = function
        return function

    def _failure(self, name: str, code: int) -> DeviceError:
        text, fix = meaning_of(code)
        return DeviceError(f"acl.{name} failed with {code}: {text}{self._recent()}", fix=fix)

    def _recent(self) -> str:
        """What the runtime itself says, where it does."""
        ask = getattr(self._module, "get_recent_err_msg", None) if self._ready else None
        try:
            said = ask() if ask is not None else ""
        except Exception:  # it is not in every version, and takes an argument in some
            return ""
        return f"; {said.strip()}" if isinstance(said, str) and said.strip() else ""


def _strange(name: str, what: str) -> DeviceError:
    return DeviceError(f"acl.{name} {what}", fix="report it with the version of CANN: its pyACL has changed this call")


def _module() -> Any:
    try:
        module = importlib.import_module("acl")
    except Exception as error:  # its libraries raise what they like
        raise DeviceError(f"pyACL, CANN's Python module `acl`, cannot be imported: {error}", fix=INSTALL) from error
    if not all(hasattr(module, part) for part in ("init", "rt", "mdl")):
        where = getattr(module, "__file__", None) or "somewhere"
        raise DeviceError(f"the module `acl` from {where} is not pyACL", fix=f"uninstall that package; {INSTALL}")
    return module


_library: Library | None = None
_lock = threading.Lock()


def library() -> Library:
    """The one of this process. Errors: DeviceError, and the next call tries again."""
    global _library
    with _lock:
        if _library is None:
            _library = Library()
        _library.check_process()
        return _library


def finalize() -> None:
    """End what `library` began; the next call of it begins again. Errors: DeviceError."""
    global _library
    with _lock:
        ended, _library = _library, None
        if ended is not None:
            ended.finalize()
