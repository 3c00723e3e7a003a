"""What every call of the process shares: the engine, the compiled component and the clock that ends calls."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from wasmtime import Config, Engine, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Component, ExportIndex, Linker

from . import _cache, _unhang
from ._control import TICK_S
from .errors import ComponentError

VERSION = "0.1.0"
"""The version of the WIT package."""
IDLE_TICKS = 100
"""Ticks without a call before the clock sleeps: waking it costs more than a call."""
STUCK_TICKS = 20
"""Ticks of one call after which it is looked at whether the system holds it: by then most have ended."""


def component_bytes() -> bytes:
    """The component itself: the file that `PADDOCK_COMPONENT` names, or that of the package."""
    given = os.environ.get("PADDOCK_COMPONENT")
    try:
        if given:
            return Path(given).read_bytes()
        return Path(__file__).with_name("paddock.wasm").read_bytes()
    except OSError as cause:
        raise ComponentError(f"cannot read the component: {cause}; {where_from()}") from None


def where_from() -> str:
    """What to do where the component is missing, or is none of this version."""
    given = os.environ.get("PADDOCK_COMPONENT")
    if given:
        return f"PADDOCK_COMPONENT names `{given}`; without it the one in the wheel is taken"
    return "the wheel has it inside: install it with `pip install ./host/python`, or set PADDOCK_COMPONENT to one"


class Runtime:
    """The process's runtime, made at the first call."""

    def __init__(self) -> None:
        self.process = os.getpid()
        config = Config()
        config.epoch_interruption = True
        # Of asynchronous functions the component has none, and being ready for them takes a tenth of a call.
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
        """Where the component has a function."""
        known = self._exports.get((interface, function))
        if known is not None:
            return known
        within = self.component.get_export_index(f"paddock:files/{interface}@{VERSION}")
        found = None if within is None else self.component.get_export_index(function, within)
        if found is None:
            lacks = f"the component has no `{interface}.{function}`, so it is of another version"
            raise ComponentError(f"{lacks}; {where_from()}")
        self._exports[interface, function] = found
        return found


_runtime: Runtime | None = None
_making = threading.Lock()


def runtime() -> Runtime:
    """The runtime of this process. Fails with `ComponentError`."""
    global _runtime
    known = _runtime
    if known is None:
        with _making:
            known = _runtime = _runtime or Runtime()
    if known.process != os.getpid():
        hint = 'start it another way, such as multiprocessing.set_start_method("spawn")'
        raise ComponentError(
            f"this process was forked from one that had called a tool, whose threads it has not; {hint}"
        )
    return known


class Clock:
    """Advances the engine's epoch while calls run, and sleeps when none has run for a while."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._calls: dict[int, int] = {}
        """The tick at which each call under way began, by its thread."""
        self._ticks = 0
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> int:
        """Lets the epoch advance until `end` is called with what this gives."""
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
            # As many as the time says: a thread can be woken late.
            due = min(int((now - last) / TICK_S), IDLE_TICKS)
            last = now if due == IDLE_TICKS else last + due * TICK_S
            for _ in range(due):
                self._engine.increment_epoch()
            self._ticks += due
            self._free_stuck(due)
            idle = 0 if self._calls else idle + 1
            if idle >= IDLE_TICKS:
                self._wake.clear()
                # A call that began before it could see this has to be seen here.
                if not self._calls:
                    self._wake.wait()
                last, idle = time.monotonic(), 0

    def _free_stuck(self, due: int) -> None:
        ages = [self._ticks - began for began in list(self._calls.values())]
        if any(age // STUCK_TICKS > (age - due) // STUCK_TICKS for age in ages):
            _unhang.free_stuck_opens()
