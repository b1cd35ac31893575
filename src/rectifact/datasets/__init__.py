"""Data with a known truth: bundled, generated, and loaders for published sets."""

from rectifact.datasets.crowds import CrowdSet, make_crowd
from rectifact.datasets.generators import LabelledMatrix, Topics, make_dots, make_sprites, make_topics
from rectifact.datasets.graphs import Graph, make_block_model
from rectifact.datasets.loaders import (
    MissingDataset,
    catalogue,
    data_folders,
    load_breast21,
    load_crowd,
    load_email,
    load_images,
    load_jasper,
    load_judges,
    load_lastfm,
    load_stl10,
    load_tdt2,
    load_uci,
)
from rectifact.datasets.mixtures import make_neurons, make_signatures, make_spectra

__all__ = [
    "CrowdSet",
    "Graph",
    "LabelledMatrix",
    "MissingDataset",
    "Topics",
    "catalogue",
    "data_folders",
    "load_breast21",
    "load_crowd",
    "load_email",
    "load_images",
    "load_jasper",
    "load_judges",
    "load_lastfm",
    "load_stl10",
    "load_tdt2",
    "load_uci",
    "make_block_model",
    "make_crowd",
    "make_dots",
    "make_neurons",
    "make_signatures",
    "make_spectra",
    "make_sprites",
    "make_topics",
]
