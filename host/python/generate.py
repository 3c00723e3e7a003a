"""Makes `src/paddock/types.py` and `src/paddock/_operations.py` from `wit/`.

Usage: python generate.py [--check]
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
WIT = HERE / "../../wit"
PACKAGE = HERE / "src/paddock"
WIDTH = 120

INTERFACES = ["types", "approval", "files", "search", "tools"]
# What of them Python has: arguments are those of methods, and an error is an exception.
LEFT_OUT = {"error", "outcome", "written", "write-mode", "touched"}
OPERATIONS = ["files", "search"]
# Those that only look. `search.changes` writes to the state directory.
LOOKS = {"read", "read-many", "stat", "history", "list", "tree", "glob", "grep"}
# Defaults that the documentation of a field does not say, or says for each function.
DEFAULTS = {
    ("file-range", "offset"): "1",
    ("read-many", "files"): "()",
    ("history", "limit"): "100",
    ("restore", "overwrite"): "False",
    ("copy", "recursive"): "False",
    ("move-entry", "recursive"): "True",
}


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
            said, doc = "\n".join(doc), []
            if current is not None:
                if line == "}":
                    current = None
                elif found := re.fullmatch(r"%?([\w-]+)(?:: (.+?)|\((.+)\))?,", line):
                    current.members.append(Member(found[1], found[2] or found[3] or "", said))
            elif found := re.fullmatch(r"(record|enum|variant) ([\w-]+) \{", line):
                current = Type(found[1], found[2], said)
                self.types[current.name] = current
            elif found := re.fullmatch(r"%?([\w-]+): func\(args: ([\w-]+)\) -> result<(.+), error>;", line):
                self.functions.append(Function(interface, found[1], said, found[2], found[3]))

    def operations(self) -> list[Function]:
        return [function for function in self.functions if function.interface in OPERATIONS]

    def shown(self) -> list[Type]:
        """The types that Python has, each after those that it needs."""
        arguments = {function.arguments for function in self.operations()}
        kept = [each for each in self.types.values() if each.name not in LEFT_OUT | arguments]
        return [each for each in kept if each.kind != "variant"]


def python_name(name: str) -> str:
    name = name.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def class_name(name: str) -> str:
    return "".join(part.title() for part in name.split("-"))


def python_type(wit: str, *, argument: bool = False) -> str:
    if found := re.fullmatch(r"option<(.+)>", wit):
        return f"{python_type(found[1], argument=argument)} | None"
    if found := re.fullmatch(r"list<(.+)>", wit):
        return f"{'Sequence' if argument else 'list'}[{python_type(found[1], argument=argument)}]"
    if found := re.fullmatch(r"result<(.+), error>", wit):
        return f"{python_type(found[1])} | ToolError"
    plain = {"string": "str", "bool": "bool", "u32": "int", "u64": "int"}
    return plain.get(wit) or class_name(wit)


def shape(wit: str) -> str:
    """A type as `_convert` takes it, as Python's text."""
    if found := re.fullmatch(r"(option|list|result)<(.+?)(?:, error)?>", wit):
        return f'("{found[1]}", {shape(found[2])})'
    return f'"{wit}"'


def default(function: str, member: Member) -> str | None:
    """The default of an argument, as Python's text. None where it has to be given."""
    if (known := DEFAULTS.get((function, member.name))) is not None:
        return known
    if member.type.startswith("option<"):
        return "None"
    found = re.search(r"Default: (?:by )?`?([\w.,]+?)`?\.(?:\s|$)", member.doc)
    if found is None:
        return None
    said = found[1].replace(",", "")
    if member.type.startswith("list<"):
        return "()"
    if said in ("true", "false"):
        return said.title()
    return said if said.isdigit() else f'"{said}"'


def prose(doc: str, model: Model) -> str:
    """WIT's documentation with Python's names."""
    known = {member.name for each in model.types.values() if each.kind == "record" for member in each.members}
    known |= {function.name for function in model.functions}
    named = re.sub(r"`([a-z][a-z-]+)`", lambda name: f"`{python_name(name[1])}`" if name[1] in known else name[0], doc)
    return named.replace("`error-code::", "`")


def wrapped(text: str, indent: str, first: int = 0) -> list[str]:
    lines: list[str] = []
    room = WIDTH - len(indent)
    for paragraph in text.split("\n\n"):
        if lines:
            lines.append("")
        line, taken = "", first if not lines else 0
        for word in paragraph.split():
            if line and len(line) + 1 + len(word) + taken > room:
                lines.append(indent + line)
                line, taken = word, 0
            else:
                line = f"{line} {word}" if line else word
        lines.append(indent + line)
    return lines


def docstring(text: str, indent: str) -> list[str]:
    quote = 'r"""' if "\\" in text else '"""'
    lines = wrapped(text, indent, len(quote))
    lines[0] = f"{indent}{quote}{lines[0].strip()}"
    if len(lines) == 1 and len(lines[0]) + 3 <= WIDTH:
        return [lines[0] + '"""']
    return [*lines, indent + '"""']


def types_module(model: Model) -> Iterator[str]:
    yield '"""The types of the tools, made from `wit/` by `generate.py`: change them there."""'
    yield "\nfrom __future__ import annotations\n"
    yield "from dataclasses import dataclass"
    yield "from typing import TYPE_CHECKING, Any, Literal, Tuple, Union\n"
    yield "if TYPE_CHECKING:"
    yield "    from .errors import ToolError"
    shown = model.shown()
    for each in [each for each in shown if each.kind == "enum"]:
        yield ""
        cases = "".join(f'    "{case.name}",\n' for case in each.members)
        yield f"{class_name(each.name)} = Literal[\n{cases}]"
        said = [f"`{case.name}`: {prose(case.doc, model)}" for case in each.members if case.doc]
        yield from docstring("\n\n".join([prose(each.doc, model), *said]), "")
    for each in [each for each in shown if each.kind == "record"]:
        yield "\n\n@dataclass(frozen=True)"
        yield f"class {class_name(each.name)}:"
        yield from docstring(prose(each.doc, model), "    ")
        yield ""
        for member in each.members:
            preset = default(each.name, member) if each.name in ("file-range", "replacement") else None
            ending = f" = {preset}" if preset else ""
            yield f"    {python_name(member.name)}: {python_type(member.type)}{ending}"
            yield from docstring(prose(member.doc, model), "    ")
    yield "\n\nShape = Union[str, Tuple[str, Any]]"
    yield '"""How a value is passed: a scalar, the name of an enum or a record, or a list, option or result of one."""'
    yield "\nENUMS: dict[str, frozenset[str]] = {"
    for each in [each for each in model.types.values() if each.kind == "enum" and each.name not in LEFT_OUT]:
        cases = [f'"{case.name}"' for case in each.members]
        yield from folded(f'    "{each.name}": frozenset([', cases, "]),")
    yield "}"
    yield "\nRECORDS: dict[str, tuple[type | None, tuple[tuple[str, Shape], ...]]] = {"
    classes = {each.name for each in shown}
    for each in [each for each in model.types.values() if each.kind == "record" and each.name not in LEFT_OUT]:
        members = [f'("{member.name}", {shape(member.type)})' for member in each.members]
        made = class_name(each.name) if each.name in classes else "None"
        yield from folded(f'    "{each.name}": ({made}, (', members, ",)),")
    yield "}"
    yield '"""Each record with its class, if Python has one, and its fields by WIT\'s names."""'


def folded(start: str, items: list[str], end: str) -> Iterator[str]:
    """A tuple or list on one line, or where that is too long an item a line."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH:
        yield line
        return
    indent = " " * (len(start) - len(start.lstrip()))
    yield start
    yield from (f"{indent}    {item}," for item in items)
    yield f"{indent}{end.removeprefix(',')}"


def operations_module(model: Model) -> Iterator[str]:
    yield '"""The operations with types, made from `wit/` by `generate.py`: change them there."""'
    yield "\nfrom __future__ import annotations\n"
    yield "from typing import TYPE_CHECKING, Any\n"
    yield "if TYPE_CHECKING:"
    yield "    from collections.abc import Sequence\n"
    operations = model.operations()
    used = {class_name(function.result) for function in operations}
    for function in operations:
        members = model.types[function.arguments].members
        kinds = {re.sub(r"\w+<(.+)>", r"\1", member.type) for member in members}
        used |= {class_name(kind) for kind in kinds if kind in model.types}
    yield "    from .types import ("
    for name in sorted(used):
        yield f"        {name},"
    yield "    )"
    yield "\n\nclass Operations:"
    yield '    """A method for each operation of `wit/files.wit` and `wit/search.wit`.\n'
    blocks = "and blocks its thread until the end."
    yield f"    Each raises `ToolError` where the tool fails, for the reasons that it names, {blocks}"
    yield '    """\n'
    yield "    def _typed("
    arguments = "arguments: tuple[str, tuple[object, ...]], result: str, *, changing: bool"
    yield f"        self, interface: str, function: str, {arguments}"
    yield "    ) -> Any:"
    yield "        raise NotImplementedError"
    for function in operations:
        yield ""
        yield from method(function, model)


def method(function: Function, model: Model) -> Iterator[str]:
    members = model.types[function.arguments].members
    required = [member for member in members if default(function.name, member) is None]
    leading = required or members[:1]
    rest = [member for member in members if member not in leading]

    def parameter(member: Member) -> str:
        preset = default(function.name, member)
        declared = f"{python_name(member.name)}: {python_type(member.type, argument=True)}"
        return declared if preset is None else f"{declared} = {preset}"

    parameters = ["self", *map(parameter, leading), *(["*"] if rest else []), *map(parameter, rest)]
    name, result = python_name(function.name), class_name(function.result)
    line = f"    def {name}({', '.join(parameters)}) -> {result}:"
    if len(line) <= WIDTH:
        yield line
    else:
        yield f"    def {name}("
        yield from (f"        {each}," for each in parameters)
        yield f"    ) -> {result}:"
    arguments = "\n\n".join(f"{python_name(member.name)}: {member.doc}" for member in members)
    doc = docstring(prose(function.doc, model), "        ")
    if len(doc) == 1:
        doc = [doc[0].removesuffix('"""'), '        """']
    yield from doc[:-1]
    yield "\n        Args:"
    for paragraph in prose(arguments, model).split("\n\n"):
        first, *more = wrapped(paragraph, "                ", -4)
        yield f"            {first.strip()}"
        yield from more
    yield doc[-1]
    values = [python_name(member.name) for member in members]
    changing = "False" if function.name in LOOKS else "True"
    yield from folded("        values = (", values, ",)")
    yield f"        result: {result} = self._typed("
    passed = f'("{function.arguments}", values), "{function.result}", changing={changing}'
    yield f'            "{function.interface}", "{function.name}", {passed}'
    yield "        )"
    yield "        return result"


def modules() -> dict[Path, str]:
    model = Model.read()
    made = {"types.py": types_module(model), "_operations.py": operations_module(model)}
    return {PACKAGE / name: "\n".join(lines) + "\n" for name, lines in made.items()}


def main() -> int:
    stale = [path for path, text in modules().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.name} is not what wit/ says: run `python host/python/generate.py`", file=sys.stderr)
        return 1 if stale else 0
    for path, text in modules().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
