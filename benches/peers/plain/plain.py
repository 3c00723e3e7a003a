"""File work as a few lines of Python: os.walk and re, no ignore rules."""

import os
import re
import sys


def files():
    for folder, _, names in os.walk("."):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                yield path


def grep(output, flags, pattern):
    matcher = re.compile(pattern.encode(), re.IGNORECASE if "i" in flags else 0)
    for path in files():
        with open(path, "rb") as file:
            data = file.read()
        if b"\0" in data[:8192]:
            continue
        if output == "files":
            if matcher.search(data):
                print(path)
            continue
        if "m" in flags:
            count = sum(1 for _ in matcher.finditer(data))
        else:
            count = sum(1 for line in data.split(b"\n") if matcher.search(line))
        if count:
            print(f"{path}\0{count}")


def names(suffix):
    for path in files():
        if path.endswith(suffix):
            print(path)


def page(path, first, count):
    first, count = int(first), int(count)
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if number >= first + count:
                break
            if number >= first:
                sys.stdout.write(line)


def edit(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        sys.exit("not exactly once")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


{"grep": grep, "names": names, "page": page, "edit": edit}[sys.argv[1]](*sys.argv[2:])
