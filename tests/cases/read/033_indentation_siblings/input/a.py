import os


# Greets.
# Twice.
def greet(name):
    """Say it."""
    if name:
        print("hello")
        print(name)

    for i in range(2):
        print(i)


class A:
    def one(self):
        return 1

    def two(self):
        return 2
