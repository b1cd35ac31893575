"""Samples that are images: their height and width on the command line."""

import re
from typing import Annotated

import typer

from rectifact.core.errors import InputError

__all__ = ["ImageOption", "check_image_shape"]

ImageOption = Annotated[
    str | None, typer.Option("--image", help="Samples are images of this size, such as 28x28: shown in the report.")
]


def check_image_shape(text: str | None, n_features: int) -> tuple[int, int] | None:
    """Height and width from a text such as ``28x28``, which must fit the number of features.

    Examples
    --------
    >>> check_image_shape("2x3", 6)
    (2, 3)
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)[x×](\d+)", text.strip())
    if found is None:
        raise InputError(f"--image {text!r} should be a height and a width, such as 28x28.")
    height, width = int(found[1]), int(found[2])
    if height * width != n_features:
        raise InputError(f"--image {text} has {height * width} pixels, but a sample has {n_features} features.")
    return height, width
