import numpy as np
import pytest

from rectifact.io.columns import ID, is_rating


@pytest.mark.parametrize(
    "name", ["KundenNr", "Customer No", "customer_number", "Cust#", "Account", "userId", "order no."]
)
def test_names_of_identifiers(name):
    assert ID.fullmatch(name)


@pytest.mark.parametrize("name", ["Casino", "piano", "income", "NO2", "humid", "numbers of visits"])
def test_names_of_measures(name):
    assert not ID.fullmatch(name)


def test_half_stars_are_ratings_and_counts_are_not():
    rng = np.random.default_rng(0)
    assert is_rating(rng.choice(np.arange(1, 11) / 2, p=np.arange(1, 11) / 55, size=500))
    assert not is_rating(1 + rng.poisson(0.4, size=500))
