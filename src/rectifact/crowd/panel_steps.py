"""What to do next after an evaluation: rules that look at what was found, the most important first."""

import shlex
from typing import Any

import numpy as np
import pandas as pd

from rectifact.core.errors import count
from rectifact.core.findings import Finding
from rectifact.core.validation import check_generator
from rectifact.crowd.advice.readings import UNSUPPORTED
from rectifact.crowd.copies import families_of
from rectifact.crowd.data.names import in_words, joined_names, matched, object_array, plain, sentence, who_all
from rectifact.crowd.panel_caution import caution_steps, is_selected
from rectifact.crowd.panel_choice import JOINT
from rectifact.crowd.panel_evidence import evidence_steps
from rectifact.crowd.panel_precision import FIRST_LABELS, precision_steps
from rectifact.crowd.panel_replacement import TOGETHER, rounded_up, shared_tasks
from rectifact.crowd.panel_words import by_words, shared_errors
from rectifact.crowd.rate_words import best_half_width
from rectifact.crowd.replacement import TOO_FEW

IN_DOUBT = 0.8
"""Confidence below which a label is called doubtful."""

COMPLETE = 0.8
"""Share of the tasks that a judge answers at least, where people answer fewer; some answers of judges get lost."""

LEAST_GRADES = 4
"""Labels that are numbers in a row, from which on they may be grades."""

MOST_NAMED = 12


def next_steps(found: Any) -> list[Finding]:
    """What to do next, the most important first."""
    grades = _grade_steps(found)
    first = grades if found.rates is None else []  # their mean is what may be asked for
    return [
        *_spelling_steps(found),
        *caution_steps(found),
        *(first if found.reference else []),
        *_reference_steps(found, bool(first)),
        *([] if found.reference else first),
        *_group_steps(found),
        *precision_steps(found),
        *_people_steps(found),
        *_slip_steps(found),
        *_twin_steps(found),
        *([] if first else grades),
        *_doubt_steps(found),
    ]


def _spelling_steps(found: Any) -> list[Finding]:
    """Labels that differ only in case or spaces come before all else, as they spoil every figure."""
    spelt: dict[str, list[Any]] = {}
    for name in found.panel.answers.classes.tolist():
        spelt.setdefault(str(name).strip().casefold(), []).append(name)
    alike = [names for names in spelt.values() if len(names) > 1]
    if not alike:
        return []
    named = "; ".join(sentence([repr(name) for name in names]) for names in alike[:MOST_NAMED])
    detail = "They count as different classes, in the rate as well."
    return [Finding("warning", "labels in several spellings", detail, f"Merge {named}, if they mean the same.")]


def _slip_steps(found: Any) -> list[Finding]:
    """Grades that nobody confirms may be slips, and count in means as they are."""
    if not found.model.ordinal:
        return []
    what, start = "They count as they are, in means as well.", "Look at the grades that nobody confirms: "
    return [
        Finding("warning", "grades that may be slips", what, *(f"{start}{text[0].lower()}{text[1:]}" for text in texts))
        for finding in found.findings
        if finding.finding == UNSUPPORTED
        for texts in [(finding.remedy, finding.command or finding.remedy)]
    ]


def _grade_steps(found: Any) -> list[Finding]:
    """A hint where labels are numbers in a row, which may be grades."""
    classes = found.panel.answers.classes
    try:
        numbers = np.sort([float(name) for name in classes.tolist()])
    except (TypeError, ValueError):
        return []
    if found.model.ordinal or len(numbers) < LEAST_GRADES or not (np.diff(numbers) == 1).all():
        return []
    detail = f"{sentence(classes.tolist())} count as names without an order."
    remedy = (
        "If they are grades, {}: their mean is then estimated, and workers who miss by little count for more than "
        "those who miss by much."
    )
    given = "say ordinal=True", "give --ordinal"
    return [Finding("note", "labels that may be grades", detail, *(remedy.format(how) for how in given))]


def _reference_steps(found: Any, graded: bool) -> list[Finding]:
    if not found.reference:
        remedy = f"Let a person label {_first_tasks(found)}, and give the labels as {{}}.{{}}"
        return [
            *_unnamed_people(found),
            Finding(
                "problem",
                "nobody knows how far the judges are right",
                "Judges that agree may all be wrong in the same way; only labels of people show it.",
                remedy.format("gold", ""),
                remedy.format("--gold", " --sample tasks.csv draws them." if _must_draw(found) else ""),
            ),
        ]
    if found.rates is None:
        classes = sentence(found.panel.answers.classes.tolist())
        name = "Otherwise name" if graded else "Name"
        remedy = f"{name} the class whose share you want with {{}}; the classes are {classes}."
        return [
            Finding("note", "no rate", "No class was named.", remedy.format("positive"), remedy.format("--positive"))
        ]
    return []


def _first_tasks(found: Any) -> str:
    n_tasks = len(found.panel.answers.tasks)
    return f"{FIRST_LABELS} tasks drawn at random" if _must_draw(found) else f"all {n_tasks} tasks"


def _must_draw(found: Any) -> bool:
    return len(found.panel.answers.tasks) > FIRST_LABELS


def tasks_to_label(found: Any, n: int | None = None, random_state: Any = 0) -> pd.DataFrame:
    """Tasks without a label of what rates are measured by, drawn at random, with their texts where there are some.

    Without ``n``, as many as the asked half-width of the rate takes, or 50 to begin with. Where gold labels look
    selected they do not count: tasks are drawn from all.
    """
    answers, rng = found.panel.answers, check_generator(random_state)
    labelled = np.zeros(len(answers.tasks), dtype=bool)
    chosen = is_selected(found) and found.reference == "gold labels"
    if found.reference == "people":
        labelled[answers.task[found.panel.is_person[answers.worker]]] = True
    elif found.truth is not None and not chosen:
        labelled = found.truth >= 0
    if n is None:
        n = FIRST_LABELS
        if found.rates is not None and not chosen and np.isfinite(found.rates.rates["labels_needed"].iloc[0]):
            row = found.rates.rates.iloc[0]
            n = max(int(row["labels_needed"]) - int(row["labels"]), 0) or FIRST_LABELS
    drawn = rng.permutation(np.flatnonzero(~labelled))[:n]
    table = pd.DataFrame({"task": answers.tasks[drawn]})
    if not found.texts:
        return table
    place = matched(answers.tasks[drawn], object_array(list(found.texts)))
    texts = list(found.texts.values())
    return table.assign(text=[texts[where] if where >= 0 else "" for where in place.tolist()])


def sample_words(found: Any, n: int) -> str:
    """Why the sample has so many tasks.

    ``n`` is their number.
    """
    drawn = f"The sample has {count(n, 'task')} drawn at random"
    if is_selected(found) and found.reference == "gold labels":
        return f"{drawn} from all, to begin with, as the gold labels that there are look selected."
    if found.rates is None or found.rates.half_width is None:
        return f"{drawn}, to begin with."
    row, quantity = found.rates.rates.iloc[0], found.rates.quantity
    asked = f"{quantity.wanted(found.rates.half_width)} on either side"
    needed, labels = row["labels_needed"], int(row["labels"])
    if pd.isna(needed):
        return f"{drawn}, to begin with."
    if np.isinf(needed):
        best = quantity.size(best_half_width(row, found.rates))
        return (
            f"{drawn}, a next batch: an interval of {asked} is out of reach with these tasks, as labels for all of "
            f"them would give about {best}."
        )
    if needed <= labels:
        return f"{drawn}, though the interval reaches no more than {asked} already."
    return f"{drawn}, as many as an interval of {asked} is expected to take."


def _unnamed_people(found: Any) -> list[Finding]:
    """Who may be a person, where nobody is named as one."""
    if found.panel.has_people:
        return []
    names, reason = likely_people(found)
    everybody = f"All {len(found.panel.answers.workers)} workers count as judges, because nobody is named as a person"
    if found.kind_column is not None:
        column = found.kind_column
        return [
            Finding(
                "warning",
                "people may be among the judges",
                f"{everybody}, but the column {column!r} seems to say who is one.",
                f"Name that column: people={column!r}.",
                f"Name that column: --people {shlex.quote(column)}.",
            )
        ]
    if not names:
        return []
    if_people = f"If {sentence(names)} {'is a person' if len(names) == 1 else 'are people'}, say so"
    return [
        Finding(
            "warning",
            "people may be among the judges",
            f"{everybody}; {reason}.",
            f"{if_people}: people={names!r}.",
            f"{if_people}: --people {shlex.quote(joined_names(names))}.",
        )
    ]


def likely_people(found: Any) -> tuple[list[Any], str]:
    """Workers who answered some tasks only, where others answered nearly all, and that they did; empty if unclear."""
    answers = found.panel.answers
    seen = np.array([len(np.unique(answers.task[answers.worker == w])) for w in range(len(answers.workers))])
    some = seen < COMPLETE * len(answers.tasks)
    if not some.any() or some.sum() > MOST_NAMED or (~some).sum() < 2:
        return [], ""
    names = [plain(name) for name in answers.workers[some]]
    return names, f"{sentence(names)} answered only some of the tasks, as people often do"


def _group_steps(found: Any) -> list[Finding]:
    why = by_words(found.rates, found.groups, found.reference)
    if why is None:
        return []
    return [
        Finding(
            "warning",
            "groups were not compared",
            why[0],
            f"{why[1]}, or leave out by.",
            f"{why[1]}, or leave out --by.",
        )
    ]


def _people_steps(found: Any) -> list[Finding]:
    n_people = int(found.panel.is_person.sum())
    if n_people < 2:
        n_tasks = min(FIRST_LABELS, len(found.panel.answers.tasks))
        remedy = f"Let two or three people answer the same {count(n_tasks, 'task')}, and give their answers as {{}}."
        detail = "Whether judges agree with people as people do with each other, and may replace them, is not known"
        return [
            *(_unnamed_people(found) if found.reference else []),
            Finding(
                "note",
                f"{'no' if not n_people else 'one'} person to compare judges with",
                f"{detail}: that takes two people or more.",
                remedy.format("humans"),
                remedy.format("--humans"),
            ),
        ]
    test = found.replacement
    if test is None:
        reason = " ".join(found.unknown)
        return [Finding("note", "judges could not be tested", reason, "Let people answer tasks that judges answered.")]
    few = test.judges[test.judges["decision"] == TOO_FEW]
    few = few[few["reservation"] == ""]  # more tasks would not mend a flaw
    few = few[~few["judge"].isin(_other_twins(found, few["judge"].tolist()))]
    thin = evidence_steps(found)
    if not len(few):
        return thin
    names = [JOINT if name == TOGETHER else in_words(name) for name in few["judge"]]
    return [
        Finding(
            "note",
            f"too few answers of people to decide about {sentence(names)}",
            "Each person is compared on the tasks that another person answered too.",
            _more_answers(few, test, len(found.panel.answers.tasks)),
        ),
        *thin,
    ]


def _other_twins(found: Any, undecided: list[Any]) -> set[Any]:
    """Judges about whom nothing has to be decided, as another judge who says the same is decided or comes first."""
    others: set[Any] = set()
    for family in families_of(found.pairs):
        open_ = [name for name in undecided if name in family]
        others |= set(open_ if len(open_) < len(family) else open_[1:])
    return others


def _more_answers(few: pd.DataFrame, test: Any, n_tasks: int) -> str:
    known = few[np.isfinite(few["tasks_needed"])]
    most = rounded_up(known["tasks_needed"].max()) if len(known) else test.least
    if most > n_tasks:
        return (
            f"Add tasks: about {most} that two people answer would decide it, more than the {n_tasks} that there are. "
            f"Until then, treat it as not shown."
        )
    about = "about" if len(known) else "at least"
    now = f" (now {shared_tasks(test, known['judge'].tolist())})" if len(known) else ""
    return f"Let each person answer {about} {most} tasks that another person answers too{now}."


def _twin_steps(found: Any) -> list[Finding]:
    return [
        Finding(
            "warning",
            f"{who_all(names)} are {'twins' if len(names) == 2 else 'copies of each other'}",
            f"They share {shared_errors(found.pairs, names)} of their errors, far more than chance explains.",
            f"Ask only one of {who_all(names)} from now on: the {'other says' if len(names) == 2 else 'others say'} "
            "hardly anything new.",
        )
        for names in families_of(found.pairs)[:3]
    ]


def _doubt_steps(found: Any) -> list[Finding]:
    doubtful = int((found.model.probas_.max(axis=1) < IN_DOUBT).sum())
    if not doubtful:
        return []
    whole = "label in doubt" if doubtful == 1 else f"{doubtful} labels in doubt, the most doubtful first"
    remedy = (
        f"Let people check the {whole}{{}}; do not give these labels as {{}}, as their tasks are not drawn at random."
    )
    where = (
        (": model.result().sort_values('confidence') lists them", "gold"),
        (": --output labels.csv has the confidence of each", "--gold"),
    )
    have = "has" if doubtful == 1 else "have"
    detail = f"{doubtful} of {count(len(found.model.tasks_), 'label')} {have} a confidence below {IN_DOUBT:.0%}."
    remedies = (remedy.format(*words) for words in where)
    return [Finding("note", f"{count(doubtful, 'label')} in doubt", detail, *remedies)]
