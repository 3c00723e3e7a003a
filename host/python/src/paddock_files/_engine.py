"""State that all calls of the process share: the engine, the compiled component and the clock that ends calls."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from wasmtime import Config, Engine, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Component, ExportIndex, Linker

from . import _cache, _unhang
from ._budget import TICK_S
from .errors import ComponentError

VERSION = "0.1.0"
"""The version of the WIT package."""
IDLE_TICKS = 100
"""Ticks without a call after which the clock sleeps. Waking it costs more than a call."""
STUCK_TICKS = 20
"""Ticks of one call after which the clock checks whether a system call blocks it. Most calls have ended by then."""


def component_bytes() -> bytes:
    """Returns the bytes of the component: of the file that `PADDOCK_COMPONENT` names, or of the package."""
    configured = os.environ.get("PADDOCK_COMPONENT")
    try:
        if configured:
            return Path(configured).read_bytes()
        return Path(__file__).with_name("paddock.wasm").read_bytes()
    except OSError as cause:
        raise ComponentError(f"cannot read the component: {cause}; {where_from()}") from None


def where_from() -> str:
    """Returns the hint for a component that is missing or has another version."""
    configured = os.environ.get("PADDOCK_COMPONENT")
    if configured:
        return f"PADDOCK_COMPONENT names `{configured}`; without it the one in the wheel is taken"
    return "the wheel has it inside: install it with `pip install ./host/python`, or set PADDOCK_COMPONENT to one"


class Runtime:
    """The runtime of the process, created at the first call."""

    def __init__(self) -> None:
        self.process = os.getpid()
        config = Config()
        config.epoch_interruption = True
        # The component has no asynchronous functions, and support for them takes a tenth of a call.
        ffi.wasmtime_config_concurrency_support_set(config.ptr(), False)
        self.engine = Engine(config)
        wasm = component_bytes()
        try:
            self.component: Component = _cache.component(self.engine, wasm)
            self.linker = Linker(self.engine)
            self.linker.add_wasip2()
        except WasmtimeError as cause:
            reason = str(cause).splitlines()[0]
            raise ComponentError(f"cannot load the component: {reason}; {where_from()}") from None
        self.clock = Clock(self.engine)
        self._exports: dict[tuple[str, str], ExportIndex] = {}

    def export(self, interface: str, function: str) -> ExportIndex:
        """Returns the index of a function of the component."""
        known = self._exports.get((interface, function))
        if known is not None:
            return known
        within = self.component.get_export_index(f"paddock:files/{interface}@{VERSION}")
        index = None if within is None else self.component.get_export_index(function, within)
        if index is None:
            lacks = f"the component has no `{interface}.{function}`, so it is of another version"
            raise ComponentError(f"{lacks}; {where_from()}")
        self._exports[interface, function] = index
        return index


_runtime: Runtime | None = None
_making = threading.Lock()


def runtime() -> Runtime:
    """Returns the runtime of this process. Raises `ComponentError`."""
    global _runtime
    known = _runtime
    if known is None:
        with _making:
            known = _runtime = _runtime or Runtime()
    if known.process != os.getpid():
        hint = 'start it another way, such as multiprocessing.set_start_method("spawn")'
        raise ComponentError(
            f"this process was forked after its parent had called a tool, and lacks the threads of the parent; {hint}"
        )
    return known


class Clock:
    """A clock that advances the engine's epoch while calls run, and sleeps after a while without calls."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._calls: dict[int, int] = {}
        """Start tick of each running call, by thread."""
        self._ticks = 0
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> int:
        """Lets the epoch advance until `end` is called with the returned value."""
        call = threading.get_ident()
        with self._lock:
            self._calls[call] = self._ticks
            if self._thread is None:
                self._thread = threading.Thread(target=self._tick, name="paddock-clock", daemon=True)
                self._thread.start()
        if not self._wake.is_set():
            self._wake.set()
        return call

    def end(self, call: int) -> None:
        self._calls.pop(call, None)

    def _tick(self) -> None:
        idle = 0
        last = time.monotonic()
        while True:
            time.sleep(TICK_S)
            now = time.monotonic()
            # The number of ticks follows from the time, because the thread can be woken late.
            due = min(int((now - last) / TICK_S), IDLE_TICKS)
            last = now if due == IDLE_TICKS else last + due * TICK_S
            for _ in range(due):
                self._engine.increment_epoch()
            self._ticks += due
            self._free_stuck(due)
            idle = 0 if self._calls else idle + 1
            if idle >= IDLE_TICKS:
                self._wake.clear()
                # A call may have started before it could see this flag, so this thread checks for one.
                if not self._calls:
                    self._wake.wait()
                last, idle = time.monotonic(), 0

    def _free_stuck(self, due: int) -> None:
        ages = [self._ticks - began for began in list(self._calls.values())]
        if any(age // STUCK_TICKS > (age - due) // STUCK_TICKS for age in ages):
            _unhang.free_stuck_opens()
