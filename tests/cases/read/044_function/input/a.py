import os


@cached
def f(
    a,
    b=1,
):
    if a:
        return b

    return os.name


x = f(1)
