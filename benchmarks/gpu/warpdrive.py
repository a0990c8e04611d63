from .part import Context, SkippedError


def tag_gridworld(context: Context) -> None:
    raise SkippedError("x")


tag_continuous = tag_gridworld
