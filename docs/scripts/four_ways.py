"""Find the parts of mixtures in four ways: python four_ways.py laptop | gpu | dask | resumed."""

import sys

from rectifact import ANDNMF
from rectifact.core.arrays import to_host
from rectifact.datasets import make_topics
from rectifact.metrics import part_errors


def main(way: str) -> None:
    truth = make_topics(n_samples=5_000, n_features=200, n_topics=10)
    X = truth.X
    model = ANDNMF(10, random_state=0)

    if way == "gpu":
        import torch

        X = torch.tensor(X, dtype=torch.float32, device="cuda")
    if way == "dask":
        import dask.array as da
        from distributed import Client

        Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")  # or Client("tcp://scheduler:8786")
        X = da.from_array(X, chunks=(1_250, -1)).persist()
    if way == "resumed":
        model.set_params(checkpoint="four_ways_state", resume=True)

    weights = model.fit(X).transform(X)
    error = part_errors(to_host(model.components_), truth.components).max()
    print(f"{type(weights).__module__} weights {tuple(weights.shape)}, {model.n_iter_} stages, error {error:.0e}")


if __name__ == "__main__":
    main(sys.argv[1])
