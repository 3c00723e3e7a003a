"""A fresh guest, its rights and its limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wasmtime import Store, WasiConfig, WasmtimeError
from wasmtime.component import Instance

from . import _values
from ._budget import CallBudget
from ._directory import Gone
from ._engine import runtime
from ._mounts import Root
from .errors import ToolError

if TYPE_CHECKING:
    from .types import Shape

TABLE_ELEMENTS = 100_000
INSTANCES = 64
STDERR_BYTES = 64 * 1024
"""Maximum number of bytes kept of a guest's standard error, which in practice contains the message of a panic."""


@dataclass(frozen=True)
class SandboxConfig:
    """Configuration of a sandbox: directories, the policy and limits. The guest gets nothing else."""

    roots: tuple[Root, ...] = ()
    policy: str = "{}"
    max_memory_bytes: int = 256 * 1024 * 1024


@dataclass
class Stderr:
    """The start of a guest's output to standard error."""

    stored: bytearray = field(default_factory=bytearray)

    def write(self, data: bytes) -> None:
        self.stored += data[: STDERR_BYTES - len(self.stored)]

    def text(self) -> str:
        return self.stored.decode(errors="replace").strip()


class Sandbox:
    """One guest with its store. The owner must close it. After a failure of the host it cannot be called again."""

    def __init__(self, around: SandboxConfig, budget: CallBudget) -> None:
        self._runtime = runtime()
        self._stderr = Stderr()
        self._store = Store(self._runtime.engine)
        try:
            memory = min(around.max_memory_bytes, 2**62)
            self._store.set_limits(memory, TABLE_ELEMENTS, INSTANCES, INSTANCES, INSTANCES)
            self._store.set_wasi(self._wasi(around))
            self._store.set_epoch_deadline(budget.ticks())
            self._instance: Instance = self._runtime.linker.instantiate(self._store, self._runtime.component)
        except WasmtimeError as trap:
            error = self._explain(trap, budget)
            self.close()
            raise error from None
        except BaseException:
            self.close()
            raise

    def call(
        self, budget: CallBudget, interface: str, function: str, *arguments: tuple[Shape, Any], has_result: bool = True
    ) -> Any:
        """Calls a function with arguments and their shapes. Raises `ToolError` if the guest was ended."""
        function_export = self._instance.get_func(self._store, self._runtime.export(interface, function))
        assert function_export is not None, function
        self._store.set_epoch_deadline(budget.ticks())
        call = self._runtime.clock.begin()
        try:
            return _values.call(function_export, self._store, arguments, has_result=has_result)
        except WasmtimeError as trap:
            raise self._explain(trap, budget) from None
        finally:
            self._runtime.clock.end(call)

    def close(self) -> None:
        self._store.close()

    def _wasi(self, around: SandboxConfig) -> WasiConfig:
        wasi = WasiConfig()
        wasi.env = [("PADDOCK_POLICY", around.policy)]
        wasi.stderr_custom = self._stderr.write
        preopen(wasi, around.roots)
        return wasi

    def _explain(self, trap: WasmtimeError, budget: CallBudget) -> ToolError:
        """Returns the error for a guest that was ended."""
        cause, message = str(trap), self._stderr.text()
        if budget.is_over() or "wasm trap: interrupt" in cause:
            hint = "ask for less at once: a narrower path or glob, a smaller limit"
            return ToolError("limit-exceeded", "the call used up its time and was ended", hint=hint)
        if "memory allocation of" in message or "exceeds memory limits" in cause:
            hint = "ask for less at once: a part of the file, a narrower path or glob, a smaller limit"
            return ToolError("limit-exceeded", "the call needs more memory than it may have", hint=hint)
        hint = "this is a defect of the tool, not of the call; report it with the arguments"
        return ToolError("io", f"the component failed: {message or cause.splitlines()[-1].strip()}", hint=hint)


def preopen(wasi: WasiConfig, roots: Iterable[Root]) -> None:
    """Preopens the held directories for a guest, with the rights of each mount."""
    for root in roots:
        try:
            wasi.preopen_dir(root.directory.path_to_open(root.host), root.guest, root.access == "read-write")
        except Gone as cause:
            hint = "the person who runs this has to open the workspace again"
            raise ToolError("backend-gone", f"cannot open the root `{root.guest}`: {cause}", hint=hint) from None
        except (WasmtimeError, UnicodeEncodeError):
            hint = "the person who runs this has to see to the directory, and whether this user may read it"
            raise ToolError("backend-gone", f"cannot open the root `{root.guest}`", hint=hint) from None
