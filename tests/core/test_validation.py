import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.estimator_checks import parametrize_with_checks

from rectifact.core.arrays import device, to_host
from rectifact.core.errors import InputError, InputTypeError
from rectifact.core.sparse import is_sparse
from rectifact.core.validation import check_matrix


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


class Doubler(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The thinnest estimator with validated input."""

    def __init__(self, nonnegative=False):
        self.nonnegative = nonnegative

    def fit(self, X, y=None):
        X = check_matrix(self, X, nonnegative=self.nonnegative)
        self._n_features_out = X.shape[1]
        return self

    def transform(self, X):
        if not hasattr(self, "n_features_in_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("This Doubler is not fitted yet.")
        return 2 * check_matrix(self, X, reset=False, nonnegative=self.nonnegative)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@parametrize_with_checks([Doubler()])
def test_an_estimator_with_validated_input_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


X = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
SPARSE = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


@pytest.mark.parametrize("form", [f"{name}_{kind}" for name in SPARSE for kind in ("array", "matrix")])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_every_sparse_format_becomes_csr(form, dtype):
    given = getattr(sp, form)(X.astype(dtype))
    before = given.copy()
    out = check_matrix(Doubler(), given)
    assert isinstance(out, sp.csr_array)
    assert out.has_canonical_format
    assert out.dtype == ("float32" if dtype == "float32" else "float64")
    assert_allclose(out.toarray(), X)
    assert (before != given).nnz == 0
    assert given.dtype == dtype


def test_duplicates_are_summed_in_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])
    given = sp.csr_array((data, indices, indptr), shape=(1, 2))
    assert_allclose(check_matrix(Doubler(), given).toarray(), [[4, 3]])
    assert_array_equal(given.data, [1, 2, 4])
    assert_array_equal(given.indices, [1, 1, 0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_their_names(frame):
    estimator = Doubler()
    assert_allclose(check_matrix(estimator, frame({"a": [1, 2], "b": [0.5, 3]})), [[1, 0.5], [2, 3]])
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(InputError, match=r"columns of X are not those of the fit.*reindex"):
        check_matrix(estimator, frame({"b": [1, 2], "a": [0.5, 3]}), reset=False)


def test_float32_is_kept_and_the_input_untouched():
    given = X.astype("float32")
    out = check_matrix(Doubler(), given)
    assert out.dtype == "float32"
    assert_array_equal(given, X)


def test_tensors_stay_where_they_are(torch):
    given = torch.asarray(X, dtype=torch.float32)
    estimator = Doubler()
    assert check_matrix(estimator, given) is given
    assert estimator.n_features_in_ == 3
    with pytest.raises(InputError, match="is expecting 3 features"):
        check_matrix(estimator, given[:, :2], reset=False)


def spoiled(value):
    out = X.copy()
    out[1, 2] = value
    return out


MISTAKES = {
    "nan": (spoiled(np.nan), "NaN or infinity in X: 1 of its entries, first nan at row 1, column 2 .* Fill it in"),
    "inf": (spoiled(np.inf), "NaN or infinity in X: 1 of its entries, first inf at row 1, column 2"),
    "negative": (
        spoiled(-2.0),
        r"Negative values in data: 1 of its .* first -2.0 at row 1, column 2 .* X.clip\(0\)",
    ),
    "vector": (X[0], r"two-dimensional.*shape \(3,\).*X.reshape\(-1, 1\)"),
    "cube": (X[None], r"two-dimensional.*shape \(1, 2, 3\)"),
    "no samples": (X[:0], r"0 sample\(s\)"),
    "no features": (X[:, :0], r"0 feature\(s\)"),
    "text": (np.array([["a", "b"], ["c", "d"]]), "text where numbers are expected"),
    "objects": (np.array([["a", None], [1, 2]], dtype=object), "text where numbers are expected"),
    "dicts": (np.array([[{}, 1.0]], dtype=object), "cannot be read as a matrix of numbers"),
    "complex": (X + 1j, "Complex data not supported"),
    "ragged": ([[1, 2], [3]], "rows differ in length"),
    "text frame": (pd.DataFrame({"a": ["x", "y"]}), "text where numbers are expected"),
    "a number": (3.0, "two-dimensional"),
    "texts": (["red car", "blue car"], r"list of texts.*rectifact\.parts\.documents\.count_words\(X\)\.X"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_a_sentence(name):
    given, sentence = MISTAKES[name]
    with pytest.raises(InputError, match=sentence):
        check_matrix(Doubler(), given, nonnegative=True)


@pytest.mark.parametrize("name", ["nan", "inf", "negative"])
@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_matrix, "tensor"])
def test_mistakes_are_found_and_placed_in_every_form(name, form, torch):
    given, sentence = MISTAKES[name]
    form = torch.asarray if form == "tensor" else form
    with pytest.raises(InputError, match=sentence):
        check_matrix(Doubler(), form(given), nonnegative=True)


@pytest.mark.parametrize("name", ["nan", "inf", "negative"])
def test_mistakes_are_found_and_placed_in_every_library(name, to_form):
    given, sentence = MISTAKES[name]
    with pytest.raises(InputError, match=sentence):
        check_matrix(Doubler(), to_form(given), nonnegative=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sparse_matrices_stay_sparse_on_their_device(to_csr, assert_at_home, dtype):
    given, estimator = to_csr(X.astype(dtype)), Doubler()
    out = check_matrix(estimator, given)
    assert is_sparse(out)
    assert (out.shape, out.nnz, estimator.n_features_in_) == (X.shape, 3, 3)
    assert_at_home(out.data, dtype=dtype)
    assert_array_equal(to_host(out).toarray(), X)
    with pytest.raises(InputError, match="is expecting 3 features"):
        check_matrix(estimator, to_csr(X[:, :2].astype(dtype)), reset=False)


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csc"])
def test_other_layouts_become_csr(torch, layout):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CS[RC] tensor support|Sparse invariant checks")
        given = getattr(torch.asarray(X), layout)()
    assert_array_equal(to_host(check_matrix(Doubler(), given)).toarray(), X)


def test_coordinates_that_repeat_are_summed(torch):
    given = torch.sparse_coo_tensor(
        torch.tensor([[0, 0], [1, 1]]), torch.tensor([1.0, 2.0]), (1, 2), check_invariants=True
    )
    assert_array_equal(to_host(check_matrix(Doubler(), given)).toarray(), [[0, 3]])


def test_indices_out_of_order_are_a_mistake(torch):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CS[RC] tensor support|Sparse invariant checks")
        given = torch.sparse_csr_tensor(
            torch.tensor([0, 2]), torch.tensor([1, 0]), torch.ones(2), size=(1, 2), check_invariants=False
        )
    with pytest.raises(InputError, match="Sort them in each row"):
        check_matrix(Doubler(), given)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
def test_whole_numbers_become_single_on_a_gpu_and_double_elsewhere(to_xp, dtype):
    out = check_matrix(Doubler(), to_xp(X.astype(dtype)))
    on_cpu = str(device(out)).startswith("cpu")
    assert str(out.dtype).endswith("float64" if on_cpu else "float32")
    assert_array_equal(to_host(out), X.astype(dtype))


def test_tensors_that_do_not_fit(torch):
    mistakes = {
        "two-dimensional and not empty": (torch.ones(3), torch.ones((0, 3))),
        r"X.float\(\)": (torch.ones((2, 3), dtype=torch.float16), torch.ones((2, 3), dtype=torch.complex64)),
        r"X.to_sparse_csr\(\)": (torch.ones((2, 4)).to_sparse_bsr((2, 2)),),
    }
    for sentence, tensors in mistakes.items():
        for tensor in tensors:
            with pytest.raises(InputError, match=sentence):
                check_matrix(Doubler(), tensor)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_float32_keep_it(frame):
    assert check_matrix(Doubler(), frame({"a": np.ones(2, dtype="float32")})).dtype == "float32"


def test_a_tensor_forgets_the_names_of_an_earlier_fit(torch):
    estimator = Doubler()
    check_matrix(estimator, pd.DataFrame({"a": [1.0]}))
    check_matrix(estimator, torch.ones((2, 3)))
    assert not hasattr(estimator, "feature_names_in_")


def test_nan_may_stand_for_missing():
    out = check_matrix(Doubler(), spoiled(np.nan), allow_nan=True, nonnegative=True)
    assert np.isnan(to_host(out)).sum() == 1
    with pytest.raises(InputError, match="infinity"):
        check_matrix(Doubler(), spoiled(np.inf), allow_nan=True)


def test_one_exception_serves_all():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputTypeError, InputError)
    assert issubclass(InputTypeError, TypeError)
