"""The types and functions of `wit/`, for `generate.py`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

WIT = Path(__file__).parent / "../../wit"

INTERFACES = ["types", "approval", "files", "search", "tools"]
# Types without a Python class: an error is raised as an exception, and the others are not part of a typed result.
LEFT_OUT = {"error", "outcome", "written", "write-mode", "accessed-paths"}
# The modules of record classes, each with the description of its records for the docstring. A record that no other
# module contains is in the shared module.
RECORD_GROUPS = {
    "shared": "more than one interface",
    "files": "the interface `files`",
    "search": "the interface `search`",
    "tools": "the interface `tools`",
}
OPERATIONS = ["files", "search"]


@dataclass
class Member:
    name: str
    type: str
    doc: str


@dataclass
class Type:
    kind: str
    name: str
    doc: str
    interface: str
    members: list[Member] = field(default_factory=list)


@dataclass
class Function:
    interface: str
    name: str
    doc: str
    arguments: str
    result: str


@dataclass
class Model:
    types: dict[str, Type] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)

    @classmethod
    def read(cls) -> Model:
        model = cls()
        for interface in INTERFACES:
            model.take(interface, (WIT / f"{interface}.wit").read_text())
        return model

    def take(self, interface: str, text: str) -> None:
        doc: list[str] = []
        current: Type | None = None
        for line in map(str.strip, text.splitlines()):
            if line.startswith("///"):
                doc.append(line.removeprefix("///").removeprefix(" "))
                continue
            doc_text, doc = "\n".join(doc), []
            if current is not None:
                if line == "}":
                    current = None
                elif match := re.fullmatch(r"%?([\w-]+)(?:: (.+?)|\((.+)\))?,", line):
                    current.members.append(Member(match[1], match[2] or match[3] or "", doc_text))
            elif match := re.fullmatch(r"(record|enum|variant) ([\w-]+) \{", line):
                current = Type(match[1], match[2], doc_text, interface)
                self.types[current.name] = current
            elif match := re.fullmatch(r"%?([\w-]+): func\(args: ([\w-]+)\) -> result<(.+), error>;", line):
                self.functions.append(Function(interface, match[1], doc_text, match[2], match[3]))

    def operations(self) -> list[Function]:
        return [function for function in self.functions if function.interface in OPERATIONS]

    def rendered_types(self) -> list[Type]:
        """Returns the types that have Python classes, each after the types that it refers to."""
        arguments = {function.arguments for function in self.operations()}
        types = [each for each in self.types.values() if each.name not in LEFT_OUT | arguments]
        return [each for each in types if each.kind != "variant"]

    def records(self, group: str) -> list[Type]:
        """Returns the records of one module of record classes."""
        return [each for each in self.rendered_types() if each.kind == "record" and record_group(each) == group]

    def names_in(self, module: str) -> set[str]:
        """Returns the WIT names of the types that one generated module defines."""
        enums = (each for each in self.rendered_types() if each.kind == "enum")
        return {each.name for each in (enums if module == "enums" else self.records(module))}


def record_group(record: Type) -> str:
    return record.interface if record.interface in RECORD_GROUPS else "shared"


def named_types(wit: str) -> set[str]:
    """Returns the names in a WIT type, without its type constructors."""
    return set(re.findall(r"[a-z][\w-]*", wit)) - {"list", "option", "result", "error"}
