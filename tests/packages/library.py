"""A program that uses the published wheel: it edits a file and reads it."""

import sys

import paddock_files

with paddock_files.Workspace(sys.argv[1]) as workspace:
    workspace.edit("notes.txt", [paddock_files.Replacement("colour", "color")])
    print(workspace.call("read_file", {"path": "notes.txt"}).text)
