"""
Topics of a corpus
==================

A newspaper has published 1500 short texts. Each is about one or two topics, but nobody has said which, or what the
topics are. :class:`rectifact.ANDNMF` finds both: the topics, as lists of words, and how much of each is in every text.

The corpus is generated here, so that we know the answer and can check the result.
"""

# %%
# The corpus
# ----------
# There are six topics of fourteen words each, in which the first words are more frequent than the last, and some words
# that belong to no topic. A text has 80 words. Weather and farming often occur together: topics of real texts are
# correlated too.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import NMF

from rectifact import ANDNMF
from rectifact.metrics import part_errors
from rectifact.parts.documents import count_words

TOPICS = {
    "sport": "match goal team coach player season league score stadium referee defence striker injury fans",
    "cooking": "oven butter flour recipe garlic onion sauce pepper taste kitchen dough simmer lemon plate",
    "weather": "rain wind storm cloud forecast temperature snow flood humid thunder drought frost sunny degrees",
    "farming": "harvest field wheat cattle soil farmer tractor barley seed milk orchard sheep hay crop",
    "money": "bank market shares profit loan tax budget investor debt currency trade price inflation fund",
    "space": "orbit rocket planet telescope launch moon astronaut satellite galaxy comet probe gravity crew star",
}
COMMON = ["people", "today", "report", "city", "week", "group", "place", "world", "number", "state"]
rng = np.random.default_rng(0)
vocabulary = np.array(" ".join(TOPICS.values()).split() + COMMON)
planted = np.zeros((len(TOPICS), len(vocabulary)))
for k in range(len(TOPICS)):
    planted[k, 14 * k : 14 * (k + 1)] = 0.85 * np.linspace(2, 0.5, 14) / np.linspace(2, 0.5, 14).sum()
    planted[k, -len(COMMON) :] = 0.15 / len(COMMON)

together = np.ones((6, 6))
together[2, 3] = together[3, 2] = 12  # weather and farming
shares = np.zeros((1500, 6))
for row in shares:
    first = rng.integers(6)
    second = rng.choice(6, p=together[first] / together[first].sum())
    row[first] += 0.6
    row[second] += 0.4
texts = [" ".join(rng.choice(vocabulary, size=80, p=row @ planted)) for row in shares]
print(texts[0][:110], "...")

# %%
# From words to numbers, and from numbers to topics
# -------------------------------------------------
# ``count_words`` makes the matrix: one row per text, one column per word. On the command line, ``rectifact parts
# news.txt -k 6`` does all of this in one step. Counts are noisy, so we set ``noise_floor=3``.

counts = count_words(texts, max_df=1.0)
model = ANDNMF(6, noise_floor=3, random_state=0).fit(counts.X)
for part in model.components_:
    print(", ".join(counts.columns[np.argsort(-part)[:8]]))

# %%
# How close are they to the true topics? The error is the distance between a topic found and its true counterpart,
# relative to the length of the latter. It cannot be zero: 80 words are few, and they are drawn at random.
# scikit-learn's NMF comes a little closer here. It keeps topics non-negative, as these are; ANDNMF allows any sign, and
# small negative entries are noise.

order = [list(vocabulary).index(word) for word in counts.columns]
peer = NMF(6, init="nndsvda", max_iter=500).fit(counts.X)
print("ANDNMF          ", part_errors(model.components_, planted[:, order]).round(3))
print("scikit-learn NMF", part_errors(peer.components_, planted[:, order]).round(3))

# %%
# How much of each topic is in a text
# -----------------------------------
# ``transform`` returns the weights, in words: a topic with weight 48 explains 48 of the 80 words. Divided by their sum
# they are shares, which we compare with the true ones.

weights = model.transform(counts.X)
found = weights / weights.sum(axis=1, keepdims=True)
similar = model.components_ @ planted[:, order].T
match = similar.argmax(axis=0)  # the topic found for each true one
print("mean error of a share:", np.abs(found[:, match] - shares).mean().round(3))

names = list(TOPICS)
fig, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
for k, ax in enumerate(axes.flat):
    part = model.components_[match[k]]
    top = np.argsort(-part)[:7][::-1]
    ax.barh(counts.columns[top], part[top], color="tab:blue")
    ax.set_title(names[k])
    ax.set_xticks([])
fig.suptitle("The seven top words of each topic found")

# %%
# Topics that occur together
# --------------------------
# The correlations of the shares show how the corpus was built: where there is weather, there is farming.

largest_first = np.argsort(-shares, axis=1)
sorting = np.lexsort((largest_first[:, 1], largest_first[:, 0]))  # by the first topic, then by the second
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=[3, 2])
left.imshow(found[sorting][:, match].T, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
left.set(title="share of each topic in every text", xlabel="texts", yticks=range(6), yticklabels=names)
correlation = np.corrcoef(found[:, match].T)
image = right.imshow(correlation, cmap="RdBu_r", vmin=-1, vmax=1)
right.set(title="correlation of the shares", yticks=range(6), yticklabels=names)
right.set_xticks(range(6), names, rotation=45, ha="right")
fig.colorbar(image, ax=right, shrink=0.8)
plt.show()
