"""Crowd layers: a net that learns classes from features of the tasks and the answers of all workers at once.

The bottleneck of the net gives the class. Behind it, each worker has a layer of their own, which starts as the
identity: a matrix (``"MW"``), or a weight and a bias for each class (``"VW-B"``). Missing answers do not count.

[1] F. Rodrigues and F. Pereira, "Deep learning from crowds", AAAI 2018.
"""

from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from torch import nn

from rectifact.crowd import read_answers


def crowd_layer(
    X: Any,
    table: pd.DataFrame,
    *,
    kind: Literal["MW", "VW-B"] = "MW",
    n_hidden: int = 64,
    epochs: int = 500,
    seed: int = 0,
) -> pd.DataFrame:
    """Probabilities of the classes by the bottleneck of a net with one hidden layer, for the tasks with answers.

    Parameters
    ----------
    X : array of shape (n_tasks, n_features)
        Task i has row i.
    table : DataFrame
        Columns ``task``, ``worker`` and ``label``; tasks are numbers of rows.
    kind : {"MW", "VW-B"}, default "MW"
    n_hidden : int, default 64
    epochs : int, default 500
        Steps of Adam on all answers.
    seed : int, default 0
    """
    answers = read_answers(table)
    m, k = len(answers.workers), len(answers.classes)
    features = torch.as_tensor(np.asarray(X)[answers.tasks.astype(int)], dtype=torch.float32)
    task, worker, label = (torch.as_tensor(np.asarray(part, dtype=np.int64)) for part in answers.codes[:3])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = nn.Sequential(
            nn.Linear(features.shape[1], n_hidden),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(n_hidden, k),
            nn.Softmax(dim=1),
        )
        weights = nn.Parameter(torch.eye(k).repeat(m, 1, 1) if kind == "MW" else torch.ones(m, k))
        bias = nn.Parameter(torch.zeros(m, k), requires_grad=kind == "VW-B")
        optimiser = torch.optim.Adam([*net.parameters(), weights, bias], lr=1e-3)
        for _ in range(epochs):
            classes = net(features)[task]
            mine = weights[worker]
            outputs = (mine @ classes[:, :, None])[:, :, 0] if kind == "MW" else mine * classes
            loss = nn.functional.cross_entropy(outputs + bias[worker], label)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            probas = net.eval()(features).numpy()
    return pd.DataFrame(probas, index=answers.tasks, columns=answers.classes)
