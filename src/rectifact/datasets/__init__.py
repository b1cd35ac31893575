"""Data with a known truth: bundled, generated, and loaders for published sets."""

from rectifact.datasets.crowds import CrowdSet, make_crowd
from rectifact.datasets.generators import (
    Graph,
    LabelledMatrix,
    Topics,
    make_block_model,
    make_dots,
    make_sprites,
    make_topics,
)
from rectifact.datasets.loaders import (
    MissingDataset,
    catalogue,
    data_folders,
    load_crowd,
    load_images,
    load_judges,
    load_lastfm,
    load_tdt2,
    load_uci,
)

__all__ = [
    "CrowdSet",
    "Graph",
    "LabelledMatrix",
    "MissingDataset",
    "Topics",
    "catalogue",
    "data_folders",
    "load_crowd",
    "load_images",
    "load_judges",
    "load_lastfm",
    "load_tdt2",
    "load_uci",
    "make_block_model",
    "make_crowd",
    "make_dots",
    "make_sprites",
    "make_topics",
]
