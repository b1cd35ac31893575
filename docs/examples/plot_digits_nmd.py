"""
Digits in few dimensions
========================

Half of the pixels in images of handwritten digits are zero: paper without ink. Truncated SVD must reproduce each of
these zeros, and spends dimensions on them. :class:`rectifact.NMD` reads a zero as *not positive*: the number behind it
may be zero or anything below. With that freedom, the same number of dimensions explains more.

The digits are those that come with scikit-learn: 1797 images of 8 by 8 pixels.
"""

# %%
# Two ways to get 16 numbers
# --------------------------
# Both methods turn an image of 64 pixels into a few numbers, and back. The result of SVD is clipped to the range of the
# data, which can only help it.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from rectifact import NMD, hide_entries
from rectifact.metrics import root_mean_squared_error

digits = load_digits()
X = digits.data / 16
print(f"{(X == 0).mean():.0%} of the pixels are zero")

nmd = NMD(16).fit(X)
by_nmd = nmd.inverse_transform(nmd.embedding_)
svd = TruncatedSVD(16, random_state=0).fit(X)
by_svd = svd.inverse_transform(svd.transform(X)).clip(0, 1)
print(f"NMD: {nmd.stop_reason_} after {nmd.n_iter_} sweeps")

# %%
# Look at ten of them, and at the ink on pixels that should have none: SVD leaves grey beside the strokes, NMD leaves
# less.

for name, images in (("NMD", by_nmd), ("SVD", by_svd)):
    error = root_mean_squared_error(X, images)
    print(f"{name}: error of a pixel {error:.3f}, mean ink on empty pixels {images[X == 0].mean():.3f}")
fig, axes = plt.subplots(3, 10, figsize=(9, 3.2), layout="constrained")
rows = {"image": X, "NMD, 16": by_nmd, "SVD, 16": by_svd}
for (name, images), line in zip(rows.items(), axes, strict=True):
    line[0].set_ylabel(name)
    for image, ax in zip(images, line, strict=False):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])

# %%
# How many dimensions are enough
# ------------------------------
# At four dimensions there is nothing to gain. From eight on, NMD is ahead, and at 32 its error is a third of SVD's.

ranks = [4, 8, 16, 32]
errors = {"NMD": [], "SVD": []}
for rank in ranks:
    model = NMD(rank).fit(X)
    errors["NMD"].append(root_mean_squared_error(X, model.inverse_transform(model.embedding_)))
    linear = TruncatedSVD(rank, random_state=0).fit(X)
    errors["SVD"].append(root_mean_squared_error(X, linear.inverse_transform(linear.transform(X)).clip(0, 1)))

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, marker in (("SVD", "s--"), ("NMD", "o-")):
    ax.plot(ranks, errors[name], marker, label=name)
ax.set(xlabel="dimensions", ylabel="root mean squared error of a pixel", ylim=(0, None), xticks=ranks)
ax.legend()

# %%
# New images
# ----------
# ``transform`` embeds images that were not fitted: it finds the most probable embedding of each row. To choose the
# number of dimensions, hide some pixels and see which model predicts them best: ``score`` with ``held_out`` is the
# log-likelihood of a hidden pixel.

half = NMD(16).fit(X[::2])
unseen = half.inverse_transform(half.transform(X[1::2]))
half_svd = TruncatedSVD(16, random_state=0).fit(X[::2])
unseen_svd = half_svd.inverse_transform(half_svd.transform(X[1::2])).clip(0, 1)
print(f"unseen images: NMD {root_mean_squared_error(X[1::2], unseen):.3f}, ", end="")
print(f"SVD {root_mean_squared_error(X[1::2], unseen_svd):.3f}")
mask = hide_entries(X, random_state=0)
for rank in (8, 16, 24):
    score = NMD(rank, missing=mask).fit(X).score(X, held_out=mask)
    print(f"{rank} dimensions, log-likelihood of a hidden pixel: {score:.3f}")

# %%
# A better picture is not a better map
# ------------------------------------
# The error of a pixel is one question; whether neighbours show the same digit is another. Behind the zeros, Theta may
# be far below zero. How far says little about the image, but it changes the distances in the embedding. Here is the
# share of digits that their five nearest neighbours classify correctly. Where distances matter, use those between the
# images from ``inverse_transform``, or SVD.

features = {"pixels": X, "SVD, 16": svd.transform(X), "NMD, 16": nmd.embedding_, "NMD, 16, inverse_transform": by_nmd}
for name, rows in features.items():
    print(f"{name:28}{cross_val_score(KNeighborsClassifier(5), rows, digits.target).mean():.3f}")
plt.show()
