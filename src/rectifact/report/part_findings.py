"""What could be wrong with parts or topics of a saved model, and with its documents."""

import numpy as np
import scipy.sparse as sp

from rectifact.core.findings import Finding
from rectifact.models import SavedModel
from rectifact.parts.base import are_few
from rectifact.parts.diagnosis import asks_for_fewer, worst_first
from rectifact.parts.documents import BEGINNING
from rectifact.parts.foreign_rows import languages_of
from rectifact.parts.near_copies import copied
from rectifact.parts.nearby_number import nearby_number
from rectifact.parts.set_aside import aside_of
from rectifact.parts.short_documents import about_short, left_out
from rectifact.parts.stop_words import languages_left_out
from rectifact.parts.terms import TOPICS, Terms
from rectifact.parts.too_few import too_few
from rectifact.parts.topics import repeated_texts
from rectifact.parts.unexplained import hardly_explained, missing_subject
from rectifact.parts.without_topic import without_topic
from rectifact.report.names import feature_names, largest_features, sample_names
from rectifact.report.part_fit import Fit


def part_findings(saved: SavedModel, fit: Fit, words: Terms) -> list[Finding]:
    """A diagnosis of the data that was saved with the model."""
    if words != TOPICS:
        return worst_first(saved.model.findings(fit.given, halves=are_few(fit.given), texts=False))
    texts = [str(text) for text in saved.texts]
    whole = [text if len(text) < BEGINNING else "" for text in texts]  # a beginning may be a header
    stopped = None if saved.vocabulary is None else languages_left_out(saved.vocabulary.stop_words)
    aside = aside_of(fit.given, texts, languages_of(whole), stopped)
    short, foreign, longer = aside.short, aside.languages != "", np.flatnonzero(~aside.short)
    X, names = fit.given[aside.used], sample_names(saved, len(fit.W))
    usual = np.flatnonzero(~short & ~foreign)  # another language is not a subject
    fitted, residual = usual[~aside.repeated[usual]], fit.relative
    subject = missing_subject(saved.model, fit.given[fitted], residual[fitted], feature_names(saved))
    leading = [[name for name, _ in top] for top in largest_features(saved, 10, signed=False)]
    known = (few := too_few(fit.given, saved.vocabulary)) or saved.model.findings(X, halves=are_few(X), texts=True)
    fewer = bool(few) or asks_for_fewer(known)
    repeats = copied([texts[i] for i in np.flatnonzero(~aside.repeated)], leading, stopped)
    asked = saved.selection is None and not (fewer or subject or repeats)  # other remedies come first
    found = [
        *known,
        *(nearby_number(saved.model, X) if asked else []),
        *([] if few else hardly_explained(residual[usual], subject, left_out=left_out(short, foreign), fewer=fewer)),
        *without_topic(
            np.diff(sp.csr_array(fit.given).indptr), fit.relative, short, foreign=aside.foreign, fewer=fewer
        ),
        *about_short(short, texts),
        *repeated_texts(
            *([texts[i] for i in longer], fit.given[longer], names[longer], left_out(short)),
            unused=int(aside.repeated.sum()),
        ),
        *repeats,
    ]
    return worst_first(found)
