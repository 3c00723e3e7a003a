"""Generates `src/paddock_files/types/` and `src/paddock_files/_operations/` from `wit/`.

Usage: python generate.py [--check]
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from wit_model import LEFT_OUT, RECORD_GROUPS, Function, Member, Model, named_types

PACKAGE = Path(__file__).parent / "src/paddock_files"
WIDTH = 120

# The modules of operations, each with what its operations do.
OPERATION_GROUPS = {
    "reads": "read files",
    "changes": "change files",
    "searches": "list directories and search them",
}
# Operations that only read. `search.changes` writes to the state directory.
READING_FUNCTIONS = {"read", "read-many", "stat", "history", "list", "tree", "glob", "grep"}
# Defaults that the documentation of a field does not state, or states for each function.
DEFAULTS = {
    ("file-range", "offset"): "1",
    ("read-many", "files"): "()",
    ("history", "limit"): "100",
    ("restore", "overwrite"): "False",
    ("copy", "recursive"): "False",
    ("move-entry", "recursive"): "True",
}


def python_name(name: str) -> str:
    name = name.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def class_name(name: str) -> str:
    return "".join(part.title() for part in name.split("-"))


def python_type(wit: str, *, argument: bool = False) -> str:
    if match := re.fullmatch(r"option<(.+)>", wit):
        return f"{python_type(match[1], argument=argument)} | None"
    if match := re.fullmatch(r"list<(.+)>", wit):
        return f"{'Sequence' if argument else 'list'}[{python_type(match[1], argument=argument)}]"
    if match := re.fullmatch(r"result<(.+), error>", wit):
        return f"{python_type(match[1])} | ToolError"
    plain = {"string": "str", "bool": "bool", "u32": "int", "u64": "int"}
    return plain.get(wit) or class_name(wit)


def shape(wit: str) -> str:
    """Returns the Python source of a WIT type's `Shape`."""
    if match := re.fullmatch(r"(option|list|result)<(.+?)(?:, error)?>", wit):
        return f'("{match[1]}", {shape(match[2])})'
    return f'"{wit}"'


def default(function: str, member: Member) -> str | None:
    """Returns the Python source of an argument's default, or None for a required argument."""
    if (known := DEFAULTS.get((function, member.name))) is not None:
        return known
    if member.type.startswith("option<"):
        return "None"
    match = re.search(r"Default: (?:by )?`?([\w.,]+?)`?\.(?:\s|$)", member.doc)
    if match is None:
        return None
    value = match[1].replace(",", "")
    if member.type.startswith("list<"):
        return "()"
    if value in ("true", "false"):
        return value.title()
    return value if value.isdigit() else f'"{value}"'


def prose(doc: str, model: Model) -> str:
    """Returns WIT documentation with Python's names in it."""
    known = {member.name for each in model.types.values() if each.kind == "record" for member in each.members}
    known |= {function.name for function in model.functions}
    named = re.sub(r"`([a-z][a-z-]+)`", lambda name: f"`{python_name(name[1])}`" if name[1] in known else name[0], doc)
    return named.replace("`error-code::", "`")


def wrapped(text: str, indent: str, first: int = 0) -> list[str]:
    lines: list[str] = []
    width = WIDTH - len(indent)
    for paragraph in text.split("\n\n"):
        if lines:
            lines.append("")
        line, taken = "", first if not lines else 0
        for word in paragraph.split():
            if line and len(line) + 1 + len(word) + taken > width:
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


def header(doc: str) -> Iterator[str]:
    yield f'"""{doc}, generated from `wit/` by `generate.py`."""'
    yield "\nfrom __future__ import annotations\n"


def imports(module: str, names: Iterable[str], indent: str = "") -> Iterator[str]:
    """Returns an import of `names`, on one line or with one name per line."""
    names = sorted(names)
    line = f"{indent}from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        yield line
    else:
        yield from folded(f"{indent}from {module} import (", names, ",)")


def enums_module(model: Model) -> Iterator[str]:
    yield from header("The enumerations of the tools")
    yield "from typing import Literal, get_args"
    enums = [each for each in model.rendered_types() if each.kind == "enum"]
    for each in enums:
        yield ""
        cases = "".join(f'    "{case.name}",\n' for case in each.members)
        yield f"{class_name(each.name)} = Literal[\n{cases}]"
        case_docs = [f"`{case.name}`: {prose(case.doc, model)}" for case in each.members if case.doc]
        yield from docstring("\n\n".join([prose(each.doc, model), *case_docs]), "")
    yield "\nENUMS: dict[str, frozenset[str]] = {"
    yield from (f'    "{each.name}": frozenset(get_args({class_name(each.name)})),' for each in enums)
    yield "}"
    yield '"""The cases of each enumeration, by its WIT name."""'


def records_module(group: str, model: Model) -> Iterator[str]:
    records = model.records(group)
    used = {name for each in records for member in each.members for name in named_types(member.type)}
    yield from header(f"The records of {RECORD_GROUPS[group]}")
    yield "from dataclasses import dataclass"
    errors = any("result<" in member.type for each in records for member in each.members)
    if errors:
        yield "from typing import TYPE_CHECKING"
    yield ""
    for module in ("enums", *RECORD_GROUPS):
        if module != group and (names := used & model.names_in(module)):
            yield from imports(f"._{module}", map(class_name, names))
    if errors:
        yield "\nif TYPE_CHECKING:"
        yield "    from ..errors import ToolError"
    for each in records:
        yield "\n\n@dataclass(frozen=True)"
        yield f"class {class_name(each.name)}:"
        yield from docstring(prose(each.doc, model), "    ")
        yield ""
        for member in each.members:
            preset = default(each.name, member) if each.name in ("file-range", "replacement") else None
            ending = f" = {preset}" if preset else ""
            yield f"    {python_name(member.name)}: {python_type(member.type)}{ending}"
            yield from docstring(prose(member.doc, model), "    ")


def tables_module(model: Model) -> Iterator[str]:
    yield from header("The fields of each record, by WIT names")
    yield "from typing import Any, Tuple, Union\n"
    yield f"from . import {', '.join(sorted(f'_{group}' for group in RECORD_GROUPS))}"
    yield "\nShape = Union[str, Tuple[str, Any]]"
    yield '"""The type of a value: a scalar, the name of an enum or a record, or a list, option or result of one."""'
    yield "\nRECORDS: dict[str, tuple[type | None, tuple[tuple[str, Shape], ...]]] = {"
    classes = {each.name: f"_{group}.{class_name(each.name)}" for group in RECORD_GROUPS for each in model.records(group)}
    for each in [each for each in model.types.values() if each.kind == "record" and each.name not in LEFT_OUT]:
        members = [f'("{member.name}", {shape(member.type)})' for member in each.members]
        yield from folded(f'    "{each.name}": ({classes.get(each.name)}, (', members, ",)),")
    yield "}"
    yield '"""The class of each record, where Python has one, and its fields by their WIT names."""'


def types_module(model: Model) -> Iterator[str]:
    """Returns the source of the public module, which exports every type of the generated files."""
    yield from header("The types of the tools")
    names = {"_tables": {"RECORDS", "Shape"}}
    names |= {f"_{module}": {class_name(name) for name in model.names_in(module)} for module in RECORD_GROUPS}
    names["_enums"] = {"ENUMS", *map(class_name, model.names_in("enums"))}
    for module in sorted(names):
        yield from imports(f".{module}", names[module])
    yield "\n__all__ = ["
    yield from (f'    "{name}",' for name in sorted(set().union(*names.values())))
    yield "]"


def folded(start: str, items: list[str], end: str) -> Iterator[str]:
    """Yields a tuple or list on one line, or with one item per line if one line would be too long."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH:
        yield line
        return
    indent = " " * (len(start) - len(start.lstrip()))
    yield start
    yield from (f"{indent}    {item}," for item in items)
    yield f"{indent}{end.removeprefix(',')}"


def operations_module(model: Model) -> Iterator[str]:
    yield from header("The typed operations")
    for group in sorted(OPERATION_GROUPS):
        yield f"from ._{group} import {group.title()}"
    yield f"\n\nclass Operations({', '.join(group.title() for group in OPERATION_GROUPS)}):"
    yield '    """A method for each operation of `wit/files.wit` and `wit/search.wit`.\n'
    yield "    Each method raises `ToolError` if the tool fails, with the error codes that it lists, and blocks the calling"
    yield "    thread until the tool returns."
    yield '    """'


def typed_module(model: Model) -> Iterator[str]:
    yield from header("The call that every typed operation makes")
    yield "from typing import Any"
    yield "\n\nclass Typed:"
    yield '    """The base class of the typed operations."""\n'
    yield "    def _typed("
    arguments = "arguments: tuple[str, tuple[object, ...]], result: str, *, changing: bool"
    yield f"        self, interface: str, function: str, {arguments}"
    yield "    ) -> Any:"
    yield "        raise NotImplementedError"


def operation_group_module(group: str, model: Model) -> Iterator[str]:
    yield from header(f"The operations that {OPERATION_GROUPS[group]}")
    operations = [each for each in model.operations() if operation_group(each) == group]
    members = [member for each in operations for member in model.types[each.arguments].members]
    used = {each.result for each in operations}
    used |= {name for member in members for name in named_types(member.type) if name in model.types}
    yield "from typing import TYPE_CHECKING\n"
    yield "from ._typed import Typed\n"
    yield "if TYPE_CHECKING:"
    if any(member.type.startswith("list<") for member in members):
        yield "    from collections.abc import Sequence\n"
    yield from imports("..types", map(class_name, used), "    ")
    yield f"\n\nclass {group.title()}(Typed):"
    yield f'    """The operations that {OPERATION_GROUPS[group]}."""'
    for each in operations:
        yield ""
        yield from method(each, model)


def operation_group(function: Function) -> str:
    if function.interface == "search":
        return "searches"
    return "reads" if function.name in READING_FUNCTIONS else "changes"


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
    changing = "False" if function.name in READING_FUNCTIONS else "True"
    yield from folded("        values = (", values, ",)")
    yield f"        result: {result} = self._typed("
    passed = f'("{function.arguments}", values), "{function.result}", changing={changing}'
    yield f'            "{function.interface}", "{function.name}", {passed}'
    yield "        )"
    yield "        return result"


def modules() -> dict[Path, str]:
    model = Model.read()
    texts = {
        "types/__init__.py": types_module(model),
        "types/_enums.py": enums_module(model),
        "types/_tables.py": tables_module(model),
        "_operations/__init__.py": operations_module(model),
        "_operations/_typed.py": typed_module(model),
    }
    texts |= {f"types/_{group}.py": records_module(group, model) for group in RECORD_GROUPS}
    texts |= {f"_operations/_{group}.py": operation_group_module(group, model) for group in OPERATION_GROUPS}
    return {PACKAGE / name: "\n".join(lines) + "\n" for name, lines in texts.items()}


def main() -> int:
    stale = [path for path, text in modules().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.name} does not match wit/: run `python host/python/generate.py`", file=sys.stderr)
        return 1 if stale else 0
    for path, text in modules().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
