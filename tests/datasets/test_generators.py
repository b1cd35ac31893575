import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rectifact.core.errors import InputError
from rectifact.datasets import make_block_model, make_crowd, make_dots, make_sprites, make_topics


def test_answers_follow_the_planted_model():
    crowd = make_crowd(40_000, 12, 3, labels_per_task=4, prior=[0.7, 0.2, 0.1], n_spammers=2, n_adversaries=1)
    truth = crowd.truth.to_numpy()
    assert_allclose(np.bincount(truth) / len(truth), [0.7, 0.2, 0.1], atol=0.01)
    counts = np.zeros((12, 3, 3))
    np.add.at(counts, (crowd.answers["worker"], crowd.answers["label"], truth[crowd.answers["task"]]), 1)
    assert_allclose(counts / counts.sum(axis=1, keepdims=True), crowd.confusions, atol=0.06)
    assert_allclose(crowd.confusions.sum(axis=1), 1)
    spammers, adversary, honest = crowd.confusions[:2], crowd.confusions[2], crowd.confusions[3:]
    assert_allclose(spammers, spammers[:, :, :1].repeat(3, axis=2))
    assert (np.diagonal(adversary) < 0.5).all()
    assert (np.diagonal(honest, axis1=1, axis2=2) >= 0.6).all()


@pytest.mark.parametrize("assignment", ["uniform", "skewed", "groups"])
@pytest.mark.parametrize(("n_workers", "labels_per_task"), [(200, 3), (12, 6)])
def test_every_task_has_as_many_different_workers(assignment, n_workers, labels_per_task):
    answers = make_crowd(500, n_workers, labels_per_task=labels_per_task, assignment=assignment).answers
    assert (answers.groupby("task")["worker"].nunique() == labels_per_task).all()
    assert len(answers) == 500 * labels_per_task


def test_who_answers():
    busy = {
        kind: make_crowd(2000, 100, assignment=kind).answers["worker"].value_counts().iloc[:10].sum() / 10_000
        for kind in ("uniform", "skewed")
    }
    assert busy["uniform"] < 0.15 < 0.4 < busy["skewed"]
    grouped = make_crowd(300, 30, assignment="groups", n_groups=3).answers
    assert (grouped["task"] % 3 == grouped["worker"] % 3).all()


def test_crowds_that_cannot_be():
    with pytest.raises(InputError, match="there are 5"):
        make_crowd(n_workers=10, labels_per_task=6, assignment="groups")
    with pytest.raises(InputError, match="sum to 1"):
        make_crowd(prior=[0.5, 0.5, 0.5])


@pytest.mark.parametrize("kind", ["dir", "ctm", "ctm-authors", "groups", "neg", "neg-dir", "neg-authors"])
def test_topics_are_what_they_say(kind):
    topics = make_topics(kind, n_samples=3000, n_features=40, n_topics=20)
    assert_allclose(topics.X, topics.weights @ topics.components)
    assert_allclose(topics.weights.sum(axis=1), 1)
    assert (topics.weights >= 0).all()
    assert (topics.components < 0).any() == kind.startswith("neg")
    logs = np.log(np.maximum(topics.weights, 1e-300))
    same, other = np.corrcoef(logs[:, 0] - logs[:, 1], logs[:, 10] - logs[:, 11])[0, 1], 0.8
    if kind == "groups":  # parts 0 and 10 share a factor, as do 1 and 11
        assert same > other
    elif kind.endswith("dir"):
        assert abs(same) < 0.1


def test_weights_are_spread_as_in_the_paper():
    dirichlet = make_topics("dir", n_samples=4000, n_features=5, n_topics=20).weights
    assert_allclose(dirichlet.var(axis=0).mean(), (1 / 20) * (19 / 20) / (20 * 0.05 + 1), rtol=0.1)
    logs = np.log(make_topics("groups", n_samples=4000, n_features=5, n_topics=20).weights)
    within, across = logs[:, 0] - logs[:, 10], logs[:, 0] - logs[:, 1]  # of one factor, of two
    assert_allclose([within.std(), across.std()], [3 * np.sqrt(0.2), 3 * np.sqrt(2)], rtol=0.05)
    logs = np.log(make_topics("ctm", n_samples=20_000, n_features=5, n_topics=100).weights)
    values = np.linalg.eigvalsh(np.cov(logs - logs.mean(axis=1, keepdims=True), rowvar=False))
    assert_allclose(np.median(values), 9 * (1 - 0.81), rtol=0.05)  # own variance; ten factors carry the rest
    assert_allclose(values.sum(), 9 * 100, rtol=0.05)


def test_the_authors_weights_are_nearly_pure():
    weights = make_topics("ctm-authors", n_samples=2000, n_features=5, n_topics=50).weights
    assert weights.max(axis=1).mean() > 0.95
    chosen = np.eye(50)[weights.argmax(axis=1)]
    assert_allclose(chosen.mean(axis=0), 1 / 50, atol=0.015)
    between = np.corrcoef(weights.T)[np.triu_indices(50, 1)]
    assert abs(between.mean() + 1 / 49) < 0.01  # what a constant sum makes of independent ones
    assert between.max() < 0.15


@pytest.mark.parametrize(("order", "mean"), [(np.inf, 1.0), (1.0, 1 / 2), (3.0, 3 / 4)])
def test_present_parts_have_the_strength_asked_for(order, mean):
    for kind in ("binary", "independent"):
        weights = make_topics(kind, n_samples=20_000, n_features=5, n_topics=20, sparsity=4, order=order).weights
        there = weights[weights > 0]
        assert_allclose(there.mean(), mean, atol=0.01)
        assert np.isinf(order) or abs((there <= 0.5).mean() - 0.5**order) < 0.01
        n_there = (weights > 0).sum(axis=1)
        assert n_there.mean() == pytest.approx(4, abs=0.05)
        assert (n_there.std() == 0) == (kind == "binary")
        assert_allclose((weights > 0).mean(axis=0), 0.2, atol=0.02)


def test_pairs_of_parts_are_present_together():
    weights = make_topics(
        "independent", n_samples=40_000, n_features=5, n_topics=5, sparsity=1, correlation=0.7
    ).weights
    between = np.corrcoef(weights.T)
    assert_allclose([between[0, 1], between[2, 3]], 0.7, atol=0.02)
    assert_allclose([between[0, 2], between[1, 2], between[3, 4]], 0, atol=0.02)
    assert_allclose(weights.mean(axis=0), 0.2, atol=0.01)


def test_sparsity_is_the_sum_of_the_dirichlet_parameters():
    weights = make_topics("dir", n_samples=20_000, n_features=5, n_topics=20, sparsity=3).weights
    assert_allclose(weights.var(axis=0).mean(), (1 / 20) * (19 / 20) / (3 + 1), rtol=0.05)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: make_topics("DIR"),
        lambda: make_topics("binary", n_topics=5, sparsity=6),
        lambda: make_topics("binary", n_topics=5, sparsity=0.5),
        lambda: make_topics("dir", sparsity=0),
        lambda: make_topics("independent", n_topics=5, order=0),
        lambda: make_topics("independent", n_topics=5, correlation=1.5),
        lambda: make_topics(n_samples=0),
        lambda: make_crowd(assignment="skew"),
        lambda: make_crowd(n_classes=1),
        lambda: make_crowd(accuracy=(0.9, 1.2)),
        lambda: make_crowd(n_workers=10, n_spammers=11),
        lambda: make_crowd(n_groups=0),
        lambda: make_sprites(0),
        lambda: make_block_model(10, 0),
        lambda: make_block_model(10, 20),
    ],
)
def test_options_that_make_no_sense(mistake):
    with pytest.raises(InputError):
        mistake()


def test_topic_noise_has_the_level_asked_for():
    clean, noisy = (make_topics("dir", n_samples=500, n_features=400, n_topics=5, noise=g) for g in (0, 0.2))
    assert_allclose(np.linalg.norm(noisy.X - clean.X, axis=1).mean(), 0.2, rtol=0.02)
    given = make_topics("dir", components=clean.components * 2, n_samples=3)
    assert_allclose(given.components, 2 * clean.components)


def test_dots_wrap_around():
    dots = make_dots()
    images = dots.X.toarray().reshape(32, 32, 64, 64)
    assert dots.X.shape == (1024, 4096)
    assert abs(dots.X.mean() - 0.011) < 1e-3
    assert_array_equal(images[5, 9], np.roll(images[0, 0], (10, 18), axis=(0, 1)))


def test_sprites():
    sprites = make_sprites(900)
    assert abs(sprites.X.mean() - 0.048) < 0.002
    assert set(np.unique(sprites.X.data)) == {1.0}
    assert_array_equal(np.bincount(sprites.y), [300, 300, 300])
    border = sprites.X.toarray().reshape(-1, 64, 64)[:, [0, -1], :]
    assert border.sum() == 0


def test_block_model():
    graph = make_block_model(3000, 5, degree=16, mixing=0.2)
    A = graph.adjacency
    assert abs(A - A.T).max() == 0
    assert A.diagonal().sum() == 0
    assert set(np.unique(A.data)) == {1.0}
    assert 15 < A.nnz / 3000 <= 16
    coo = A.tocoo()
    inside = np.mean(graph.labels[coo.row] == graph.labels[coo.col])
    assert abs(inside - (0.8 + 0.2 / 5)) < 0.02
    assert_array_equal(np.bincount(graph.labels), [600] * 5)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: make_crowd(50, random_state=seed).answers.to_numpy(),
        lambda seed: make_topics(n_samples=9, n_features=8, n_topics=3, random_state=seed).X,
        lambda seed: make_sprites(9, random_state=seed).X.toarray(),
        lambda seed: make_block_model(90, random_state=seed).adjacency.toarray(),
    ],
)
def test_a_seed_is_a_seed(make):
    assert_array_equal(make(1), make(1))
    assert not np.array_equal(make(1), make(2))


@pytest.mark.parametrize("make", [make_crowd, make_topics, make_sprites, make_block_model])
def test_the_old_name_of_random_state_is_accepted_with_a_warning(make):
    def numbers(**options):
        made = make(20, **options) if make is not make_topics else make(n_samples=20, n_features=8, **options)
        found = next(value for value in vars(made).values() if hasattr(value, "shape"))
        return found.toarray() if hasattr(found, "toarray") else np.asarray(found)

    with pytest.warns(DeprecationWarning, match=f"{make.__name__}: seed is now called random_state"):
        old = numbers(seed=3)
    assert_array_equal(old, numbers(random_state=3))
    assert_array_equal(old, numbers(random_state=np.random.default_rng(3)))
    with pytest.raises(TypeError, match="got both random_state and its old name"):
        numbers(seed=3, random_state=3)


def test_specialists_never_err_about_their_class():
    crowd = make_crowd(100, 10, 3, n_specialists=4)
    for m, c in zip(range(6, 10), (0, 1, 2, 0), strict=True):
        assert_allclose(crowd.confusions[m, c], np.eye(3)[c])
        assert_allclose(crowd.confusions[m, :, c], np.eye(3)[c])
    assert_allclose(crowd.confusions.sum(axis=1), 1)


@pytest.mark.parametrize("missing", [0.3, 0.5])
def test_blocks_keep_pairs_of_workers_apart(missing):
    answers = make_crowd(400, 20, labels_per_task=4, assignment="blocks", missing=missing).answers
    met = np.eye(20, dtype=bool)
    for _, group in answers.groupby("task"):
        met[np.ix_(group["worker"], group["worker"])] = True
    assert missing - 0.05 < 1 - (met.sum() - 20) / 380 <= missing
    assert (np.linalg.matrix_power(met.astype(float), 20) > 0).all()  # all are linked
