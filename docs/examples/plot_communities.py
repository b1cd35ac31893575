"""
Communities of a graph
======================

Who belongs together, in a network of 400 people who know each other? :class:`rectifact.SymNMF` writes the graph as
:math:`X \\approx U U^T` with :math:`U \\ge 0`: row i of U says how strongly person i belongs to each community.

The graph is generated with four communities of 100 people each, so that we can check the result. Every person knows
about 16 others, and a third of the acquaintances have nothing to do with the communities. In addition, 20 people are
rewired: half of the acquaintances in their own community are replaced by people from another. They belong to two.
"""

# %%
# The graph
# ---------

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from rectifact import SymNMF
from rectifact.datasets import make_block_model
from rectifact.metrics import cluster_accuracy

rng = np.random.default_rng(0)
graph = make_block_model(400, 4, degree=16, mixing=0.33, random_state=0)
A, community = graph.adjacency.tolil(), graph.labels
bridges = rng.choice(400, size=20, replace=False)
second = (community + rng.integers(1, 4, size=400)) % 4  # the second community, for those who have two
for person in bridges:
    own = [other for other in A.rows[person] if community[other] == community[person]]
    for other in own[::2]:
        A[person, other] = A[other, person] = 0
    for other in rng.choice(np.flatnonzero(community == second[person]), size=len(own[::2]), replace=False):
        A[person, other] = A[other, person] = 1
A = sp.csr_array(A)
A.eliminate_zeros()

# %%
# The fit scales each edge by the degrees of its ends, so that people who know many others do not become communities of
# their own. You can pass a graph of networkx or igraph, or a table of edges, instead of a matrix; the command line is
# ``rectifact cluster --graph edges.csv -k 4``.

model = SymNMF(4, affinity="precomputed", init="pool", random_state=0).fit(A)
ordinary = np.setdiff1d(np.arange(400), bridges)
print("people with one community who were assigned to it:", end=" ")
print(f"{cluster_accuracy(community[ordinary], model.labels_[ordinary]):.1%}")

# %%
# The graph, before and after
# ---------------------------
# The same matrix twice. On the left, people are in their original order; on the right, they are sorted by the community
# found, and within a community by how strongly they belong to it.

order = np.lexsort((-model.membership_.max(axis=1), model.labels_))
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, rows, title in zip(axes, (np.arange(400), order), ("original order", "sorted by community"), strict=True):
    ax.spy(A[rows][:, rows], markersize=0.6, color="tab:blue")
    ax.set(title=title, xticks=[], yticks=[])

# %%
# Who belongs to two
# ------------------
# ``membership_`` holds the rows of U, scaled to sum to one. A person with one community has one large membership; those
# who were given a second community have two. A soft membership is not proof, though: noise makes some other people look
# the same. ``communities(0.3)`` gives the communities as overlapping lists of people.

top_two = np.sort(model.membership_, axis=1)[:, ::-1][:, :2]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=[3, 2])
left.imshow(model.membership_[order].T, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
left.set(title="memberships", xlabel="people, sorted by community", ylabel="community", yticks=range(4))
right.scatter(*top_two[ordinary].T, s=8, alpha=0.5, label="one community")
right.scatter(*top_two[bridges].T, s=22, marker="^", color="tab:red", label="two communities")
right.set(xlabel="largest membership", ylabel="second largest")
right.legend()
print(f"second largest membership, median: {np.median(top_two[ordinary, 1]):.2f} with one community,", end=" ")
print(f"{np.median(top_two[bridges, 1]):.2f} with two")
print("members of each community, overlapping:", [len(people) for people in model.communities(0.3)])

# %%
# Can it be better?
# -----------------
# ``relative_error_`` is the share of the graph that is left unexplained. It is large for any sparse graph, because each
# single edge is a matter of chance. ``eigenvalue_bound()`` says how small it could be for this number of communities.
# The objective has many local minima. ``init="pool"`` runs from eleven starts, and ``resolved_["errors"]`` shows where
# they ended; by default only the best of them is tried, the one from eigenvectors.

errors = sorted(model.resolved_["errors"].values())
print(f"error {model.relative_error_:.4f}, bound {model.eigenvalue_bound():.4f}")
print(f"{model.stop_reason_}; the eleven starts ended between {errors[0]:.4f} and {errors[-1]:.4f}")

# %%
# How many communities are there?
# -------------------------------
# :func:`rectifact.selection.select` chooses the number by hidden edges. How much each additional community explains is
# a hint, too: here four of them explain much more than noise would, and the fifth hardly more than the sixth.

counts = range(1, 8)
fits = [SymNMF(k, affinity="precomputed").fit(A) for k in counts]
explained = -np.diff([1.0, *(fit.relative_error_ for fit in fits)])
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.bar(counts, explained, color=["tab:blue" if k <= 4 else "lightgrey" for k in counts])
ax.set(xlabel="communities", ylabel="explained by one more")
plt.show()
