"""Report on parts or topics: what they consist of, how much of the data they explain, and what they do not fit."""

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from rectifact.core.findings import Finding
from rectifact.models import SavedModel
from rectifact.parts.diagnosis import UNSTABLE
from rectifact.parts.incoherence import about_coherence
from rectifact.parts.terms import PARTS, TOPICS, Terms
from rectifact.parts.topics import CLEAR_SHARE, HARDLY, document_shares, examples, have_no_topic
from rectifact.report.blocks import Block, Card, Cards, Column, Facts, Findings, Images, Report, Section, Table
from rectifact.report.charts import bars, convergence, histogram, image_address, spectra
from rectifact.report.how_many import how_many, with_stability
from rectifact.report.likeness import likeness, with_most_similar
from rectifact.report.names import (
    along_axis,
    are_along_axis,
    count,
    feature_names,
    isolated,
    largest_features,
    listed_features,
    sample_names,
    unit_along,
)
from rectifact.report.part_findings import part_findings
from rectifact.report.part_fit import Fit, fit_of, is_signed
from rectifact.report.scales import written

N_TOP, MOST_SAMPLES, MOST_IMAGES, MOST_CARDS = 12, 10_000, 100, 60
N_EXAMPLES, LONGEST_EXAMPLE = 3, 240
"""Example documents of a topic, and letters that are shown of them."""

RULES = re.compile(r"([^\w\s])\1{3,}")
"""Lines under headings and the like, which examples do not show."""

CLEARLY = f"in which it is clearly the largest topic: a share of at least {CLEAR_SHARE:g}, a residual below {HARDLY:g}"
"""What the column of documents counts."""

PRESENT = 0.1
"""Share of a sample from which on a part counts as one of its parts."""

MOST_SPECTRA = 10
"""Parts whose features are places on an axis, such as wavelengths, that are drawn as lines."""


def parts_report(saved: SavedModel, findings: Sequence[Finding] | None = None, source: str | None = None) -> Report:
    """Sections for ANDNMF and PurificationNMF; weights and residuals if the data was saved, topics if it is text.

    ``findings`` are shown in place of a diagnosis, if it has been made. ``source`` names the model, if its parts were
    found in other samples.
    """
    with warnings.catch_warnings():  # the data is passed on without the names of its columns
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return _report(saved, findings, source)


def _report(saved: SavedModel, findings: Sequence[Finding] | None, source: str | None) -> Report:
    model, words = saved.model, PARTS if saved.texts is None else TOPICS
    n_parts, n_features = model.components_.shape
    fit = None if saved.X is None else fit_of(saved)
    if findings is None:
        findings = [] if fit is None else part_findings(saved, fit, words)
    sections = [_parts(saved, fit, words), *how_many(saved.selection)]
    if fit is not None:
        sections += _weights_and_residuals(saved, fit, words)
    if findings:
        sections.append(_diagnosis(findings, words))
    if words != TOPICS and (curve := convergence(model)):
        text = (
            "The loss is the relative error within the leading subspace of the data, where the algorithm works. What "
            "lies outside it appears only in the residuals."
        )
        sections.append(Section("Convergence", text, curve))
    new = "" if source is None else "new "
    within = "" if fit is None else f" in {count(len(fit.W), f'{new}{words.sample}')}"
    about = f"{count(n_parts, words.part)}{within} with {count(n_features, words.feature)}"
    about += "." if words == TOPICS else f", found by {type(model).__name__}."
    main, steps = _main(saved, fit, words, new=source is not None), _steps(saved, fit, words, new=source is not None)
    if source is not None:
        about += f" The {words.part}s are those of the model {source}, which was fitted to other {words.sample}s."
    return Report(words.part.capitalize() + "s", about, sections, main, steps)


def _main(saved: SavedModel, fit: Fit | None, words: Terms, *, new: bool = False) -> list[str]:
    """The sentences that matter most."""
    tops = largest_features(saved, 3, signed=is_signed(saved))
    if fit is None:
        first = "; ".join(", ".join(isolated(name) for name, _ in top) for top in tops[:3])
        return [f"The first {words.part}s, by their {_what(saved, words)}: {first}."]
    order = np.argsort(-fit.share, kind="stable")[:3]
    names = [", ".join(isolated(name) for name, _ in top) for top in tops]
    if _what(saved, words) == "peaks":
        names = [f"peak{'s' * (len(top) > 1)} at {name}" for top, name in zip(tops, names, strict=True)]
    named = ", ".join(f"{words.part} {i + 1} ({names[i]}) with {fit.share[i]:.0%}" for i in order)
    main = [] if saved.selection is None else [saved.selection.reason]
    alone = len(tops) == 1
    main += [] if alone else [f"The largest {words.part}s, by their share of the {words.whole}: {named}."]
    if fit.coherence is not None:
        best, last = int(fit.coherence.argmax()), int(fit.coherence.argmin())
        ends = (f"{fit.coherence[i]:.2f} ({words.part} {i + 1})" for i in (last, best))
        span = f", from {' to '.join(ends)}" if len(fit.coherence) > 1 else ""
        where = f" in the {count(len(fit.W), f'new {words.sample}')}" if new else ""
        main.append(
            f"Mean coherence (NPMI){where} is {fit.coherence.mean():.2f}{span}; 1 if the {words.feature}s of a "
            f"{words.part} always occur together, 0 if they do by chance."
        )
        main += [about_coherence(fit.given)] if words == TOPICS and about_coherence(fit.given) else []
    per = _present(saved, fit)
    if words == TOPICS:
        return (
            main
            if alone
            else [*main, f"A document has {per:.1f} topics on average that make up more than {PRESENT:.0%} of it."]
        )
    return [
        *main,
        f"The {words.part}s explain {fit.explained:.1%} of the squared norm of the data; a {words.sample} has "
        f"{per:.1f} of them on average that make up more than {PRESENT:.0%} of it.",
    ]


def _steps(saved: SavedModel, fit: Fit | None, words: Terms, *, new: bool = False) -> list[str]:
    """What to do next."""
    steps = []
    if fit is None:
        steps.append(f"Give the data as well, for the share of each {words.part} and for what they do not fit.")
    elif new:
        steps.append(f"Look at {words.sample}s that fit worst: a new kind would need new {words.part}s.")
    elif saved.texts is not None and len(fit.share) == 1:
        steps.append("One topic says only what the documents share: give a larger number with -k to tell them apart.")
    elif saved.texts is not None:
        steps.append("Read the examples of each topic and name it. A topic without a name is a candidate for removal.")
    else:
        steps.append(f"Look at the {words.sample}s at the top of the table of residuals: they fit worst.")
    stability = getattr(saved.model, "stability_", None)
    weak = 0 if stability is None else int((np.round(stability, 2) < UNSTABLE).sum())
    if saved.selection is None and not new and weak:
        k = len(saved.model.components_)
        low = f"{weak} of {count(k, words.part)} {'has' if weak == 1 else 'have'} a stability below {UNSTABLE:g}"
        steps.append(f"{low}: compare other numbers, for example with -k 2-{max(12, 2 * k)}.")
    if getattr(saved.model, "stability_", None) is None and not new:
        steps.append(f"Find out which {words.part}s are found again in resampled data: --stability.")
    return steps


def _diagnosis(findings: Sequence[Finding], words: Terms) -> Section:
    items = [(found.severity, found.finding, found.detail, found.command or found.remedy) for found in findings]
    text = f"What could be wrong with the {words.part}s, and what to do about it."
    return Section("Diagnosis", text, [Findings(items)])


def _parts(saved: SavedModel, fit: Fit | None, words: Terms) -> Section:
    components, signed = np.asarray(saved.model.components_, dtype=float), is_signed(saved)
    tops = largest_features(saved, N_TOP, signed=signed)
    what = _what(saved, words)
    blocks: list[Block] = []
    alike = ""
    if saved.image_shape is not None:
        shown = enumerate(components[:MOST_IMAGES], 1)
        stability = getattr(saved.model, "stability_", None)
        known = [""] * len(components) if stability is None else [f", stability {value:.2f}" for value in stability]
        images = [(f"part {i}{known[i - 1]}", image_address(part, saved.image_shape)) for i, part in shown]
        blocks.append(Images("Parts as images", images))
    else:
        blocks.append(_cards(saved, fit, words, tops, what))
    places = along_axis(feature_names(saved)) if saved.texts is None and saved.image_shape is None else None
    if places is not None:
        blocks.insert(0, spectra(places, components[:MOST_SPECTRA], unit_along(feature_names(saved))))
    elif fit is not None and len(components) > 2 and not signed:
        labels = [top[0][0] if top else "" for top in tops]
        shown_likeness, alike = likeness(components, labels, words)
        blocks += shown_likeness
    banded = "; after it the band of the parts of resampled samples, with this number of parts"
    columns = [
        Column(words.part, "integer"),
        Column(what, help=f"with their values{banded if hasattr(saved.model, 'bands_') else ''}"),
        Column("size", "number", "sum of the absolute values"),
    ]
    sizes = np.abs(components).sum(axis=1).tolist()
    texts = listed_features(saved, N_TOP, ".3g", signed=signed)
    if words == TOPICS and not hasattr(saved.model, "bands_"):  # the weights are on the cards
        texts = [", ".join(name for name, _ in top) for top in tops]
    rows: list[Any] = [[i + 1, text, sizes[i]] for i, text in enumerate(texts)]
    if np.allclose(sizes, sizes[0]):  # normalised: it says nothing
        columns, rows = columns[:2], [row[:2] for row in rows]
    if fit is not None:
        columns.append(Column("share", "share", f"of the {words.whole}"))
        rows = [[*row, float(share)] for row, share in zip(rows, fit.share, strict=True)]
    if fit is not None and words == TOPICS:
        columns.append(Column("documents", "integer", CLEARLY))
        rows = [[*row, int(number)] for row, number in zip(rows, fit.documents, strict=True)]
    if fit is not None and fit.coherence is not None:
        columns.append(Column("coherence", "number", "mean NPMI of the ten largest; 1 if they always occur together"))
        rows = [[*row, round(float(value), 3)] for row, value in zip(rows, fit.coherence, strict=True)]
    if alike:
        columns, rows = with_most_similar(components, words, columns, rows)
    table = Table(what.capitalize(), *with_stability(saved.model, columns, rows))
    text = "The parts themselves may have negative values."
    if likelihood := saved.model.resolved_.get("refine"):
        fitted = {"nonnegative": "by least squares", "poisson": "by their Poisson likelihood"}[likelihood]
        text = f"The {words.part}s are non-negative too, and were refined {fitted}."
    text = f"Each {words.sample} is a sum of {words.part}s with non-negative weights. {text}"
    if words == TOPICS:
        text = "A document is a mixture of topics. The weight of a word is its share of all words of the topic."
    text += f" {alike}" if alike else ""
    return Section(words.part.capitalize() + "s", text, [*blocks, table])


def _what(saved: SavedModel, words: Terms) -> str:
    """What is shown of a part: peaks where it is a curve along an axis, else its largest features."""
    components = np.asarray(saved.model.components_, dtype=float)
    sizes = np.abs(components) if is_signed(saved) else components
    return "peaks" if are_along_axis(sizes, feature_names(saved)) else f"largest {words.feature}s"


def _cards(saved: SavedModel, fit: Fit | None, words: Terms, tops: list[list[tuple[str, float]]], what: str) -> Cards:
    """A card for each part, the largest first: its features as bars, its figures, and documents mostly about it."""
    order = np.arange(len(tops)) if fit is None else np.argsort(-fit.share, kind="stable")
    stability = getattr(saved.model, "stability_", None)
    items = []
    for i in order[:MOST_CARDS].tolist():
        caption = [] if fit is None else [f"{fit.share[i]:.1%} of the {words.whole}"]
        if fit is not None and words == TOPICS:
            caption.append(f"clearly the largest topic in {count(int(fit.documents[i]), 'document')}")
        if fit is not None and fit.coherence is not None:
            caption.append(f"coherence {fit.coherence[i]:.2f}")
        if stability is not None:
            caption.append(f"stability {stability[i]:.2f}")
        texts = [] if fit is None or saved.texts is None else _examples(saved, fit, i)
        whole = float(np.maximum(saved.model.components_[i], 0).sum()) if saved.texts is not None else 1.0
        values = [(name, value / whole) for name, value in tops[i]]
        named = Card(f"{words.part} {i + 1}", ", ".join(caption), values, texts, i, shares=saved.texts is not None)
        items.append(named)
    title = f"{words.part.capitalize()}s, with the {what} of each"
    note = "" if fit is None else f"The {words.part} with the largest share comes first."
    return Cards(title, items, note, len(tops) - len(items))


def _present(saved: SavedModel, fit: Fit) -> float:
    """Parts of a sample that make up a good share of it, on average over the samples that have any."""
    shares = _shares(fit, saved)
    shares = shares[shares.sum(axis=1) > 0]
    return float((shares > PRESENT).sum(axis=1).mean()) if len(shares) else 0.0


def _shares(fit: Fit, saved: SavedModel) -> Any:
    """Shares of the parts in each sample; documents without a topic have none."""
    shares = document_shares(fit.W, saved.model.components_)
    return shares if saved.texts is None else np.where(have_no_topic(fit.relative)[:, None], 0, shares)


def _examples(saved: SavedModel, fit: Fit, part: int) -> list[tuple[str, str]]:
    """Documents that are clearly about a topic, with their names."""
    shown = [_beginning(str(text)) for text in saved.texts]
    names = sample_names(saved, len(shown))
    chosen = examples(fit.W, saved.model.components_, fit.relative, shown, part, N_EXAMPLES)
    return [(f"{names[i]}:", shown[i]) for i in chosen]


def _beginning(text: str) -> str:
    text = RULES.sub(" ", text[: 4 * LONGEST_EXAMPLE])
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_EXAMPLE else text[:LONGEST_EXAMPLE].rsplit(" ", 1)[0] + " …"


def _weights_and_residuals(saved: SavedModel, fit: Fit, words: Terms) -> list[Section]:
    W, relative, size, share = fit.W, fit.relative, row_norms(fit.X), fit.share
    facts = [
        (f"{words.sample}s", f"{len(W):,}", ""),
        *([("without a topic", f"{int(have_no_topic(relative).sum()):,}", "")] if words == TOPICS else []),
        *([] if words == TOPICS else [("explained", f"{fit.explained:.1%}", "of the squared norm of the data")]),
        (f"{words.part}s per {words.sample}", f"{_present(saved, fit):.1f}", f"of more than {PRESENT:.0%}, on average"),
    ]
    if fit.coherence is not None:
        facts.append(("coherence", f"{fit.coherence.mean():.2f}", "mean NPMI of the ten largest of each"))
    text = "Largest: " + ", ".join(f"{words.part} {i + 1} with {share[i]:.1%}" for i in np.argsort(-share)[:3]) + "."
    weights = bars(f"Share of each {words.part}", [str(i + 1) for i in range(len(share))], share, "share", text)
    shown: list[Block] = [Facts(facts), weights] if len(share) > 1 else [Facts(facts)]
    norms = f"norm of the residual / norm of the {words.sample}"
    spread = histogram(f"Relative residuals of the {words.sample}s", relative[size > 0], norms)
    worst = np.argsort(-relative, kind="stable")[:MOST_SAMPLES].tolist()
    names = sample_names(saved, len(W))
    parts = _shares(fit, saved) if words == TOPICS else W
    none = "none known" if words == TOPICS else ""
    rows = [[str(names[i]), float(f"{relative[i]:.4g}"), _largest_weights(parts[i], words) or none] for i in worst]
    largest = Column("largest topics" if words == TOPICS else "largest weights")
    columns = [Column(words.sample), Column("relative residual", "number"), largest]
    table = Table(f"{words.sample.capitalize()}s by residual", columns, rows, left_out=len(W) - len(worst))
    text = f"What the {words.part}s leave unexplained. The {words.sample}s at the top of the table fit worst."
    if empty := int((size <= 0).sum()):
        what = "known words" if words == TOPICS else "values other than zero"
        text += f" {count(empty, words.sample)} without {what} {'is' if empty == 1 else 'are'} at its end."
    if words == TOPICS and (size > 0).any():
        middle = float(np.median(relative[size > 0]))
        text += (
            f" The median is {middle:.2f}: of such a document, the topics explain {1 - middle**2:.0%} of the squares."
        )
    residuals = Section("Residuals", text, [spread, table])
    if words == TOPICS and len(share) == 1:  # the whole of every document
        return [residuals]
    return [
        Section(
            "Topics in documents" if words == TOPICS else "Weights",
            f"How much of each {words.part} the {words.sample}s contain.",
            shown,
        ),
        residuals,
    ]


def _largest_weights(weights: Any, words: Terms) -> str:
    top = np.argsort(-weights, kind="stable")[:3]
    shown = [f"{weights[i]:.0%}" if words == TOPICS else written(float(f"{weights[i]:.3g}")) for i in top]
    return ", ".join(f"{words.part} {i + 1}: {w}" for i, w in zip(top, shown, strict=True) if weights[i] > 0)
