"""
LLM judges and a few people
===========================

A chatbot has given 600 answers, and you want to know which are right, partly right or wrong. Six LLM judges graded
all of them, which was cheap. Three people graded 150 each, which was not. How good is each judge, what is the grade
of each answer, and where should people spend their next hour?

The judges are simulated, with deliberate faults. Four judges belong to one family, called *lark*, and are lenient. Two
belong to the family *owl*, and are strict. Judges of the same family share their blind spots. The true grades are not
used until the end, to check the result.
"""

# %%
# The answers
# -----------
# There is one row per grade: task, worker, label. Nothing else is needed, and ``rectifact labels grades.csv`` reads the
# same table.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rectifact import DawidSkene, MajorityVote

GRADES = np.array(["right", "partly", "wrong"])
N = 600
rng = np.random.default_rng(3)
truth = rng.choice(3, size=N, p=[0.5, 0.3, 0.2])

# What each kind of judge says (columns) when the truth is right, partly or wrong (rows).
LENIENT = np.array([[0.95, 0.04, 0.01], [0.60, 0.35, 0.05], [0.15, 0.35, 0.50]])
STRICT = np.array([[0.75, 0.20, 0.05], [0.10, 0.80, 0.10], [0.02, 0.13, 0.85]])
HUMAN = np.array([[0.88, 0.10, 0.02], [0.10, 0.82, 0.08], [0.03, 0.09, 0.88]])


def grades(habits):
    """One grade for every answer, drawn from the habits of a judge."""
    return (rng.random((N, 1)) > np.cumsum(habits[truth], axis=1)[:, :2]).sum(axis=1)


said = {}
for family, habits, size in (("lark", LENIENT, 4), ("owl", STRICT, 2)):
    blind_spots = grades(habits)
    for i in range(size):
        said[f"{family}-{i + 1}"] = np.where(rng.random(N) < 0.4, blind_spots, grades(habits))
PEOPLE = ["Ana", "Ben", "Cem"]
said |= {name: grades(HUMAN) for name in PEOPLE}
graded = {name: rng.permutation(N)[:150] if name in PEOPLE else np.arange(N) for name in said}


def table(asked):
    """The grades that were asked for, given the answers that each judge should grade."""
    parts = [
        pd.DataFrame({"task": tasks, "worker": name, "label": GRADES[said[name][tasks]]})
        for name, tasks in asked.items()
    ]
    return pd.concat(parts, ignore_index=True)


answers = table(graded)
answers.sample(4, random_state=0)

# %%
# The grades, and how certain they are
# ------------------------------------

model = DawidSkene().fit(answers)
model.result().sort_values("confidence").head(4).round(2)

# %%
# How good each judge is
# ----------------------
# ``information`` is how many bits one grade provides. ``bias_right`` is how much more often a judge says *right* than
# is true: it is positive for the larks, and negative for the owls and, slightly, for the people. Nobody told the model.

report = model.worker_report()
report[["worker", "answers", "accuracy", "accuracy_low", "accuracy_high", "information", "bias_right"]].round(2)

# %%
# These habits are described by the confusion matrices: what a judge says when the truth is right, partly or wrong. The
# top row shows what was learnt, the bottom row how the judges were simulated. The model finds that the larks are
# lenient, but underestimates it, and the others seem stricter than they are: four judges who err together pull the
# labels to their side.

order = [list(model.classes_).index(grade) for grade in GRADES]
shown = {"lark-1": LENIENT, "owl-1": STRICT, "Ana": HUMAN}
fig, axes = plt.subplots(2, 3, figsize=(8, 5.4), layout="constrained")
for (name, made), (upper, lower) in zip(shown.items(), axes.T, strict=True):
    learnt = model.confusions_[list(model.workers_).index(name)][np.ix_(order, order)].T
    for ax, matrix, title in ((upper, learnt, f"{name}, learnt"), (lower, made, f"{name}, simulated")):
        ax.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
        for i, j in np.ndindex(3, 3):
            ax.text(j, i, f"{matrix[i, j]:.2f}", ha="center", va="center", color="w" if matrix[i, j] > 0.5 else "k")
        ax.set(title=title, xticks=range(3), yticks=range(3), xticklabels=GRADES, yticklabels=GRADES)
for ax in axes[1]:
    ax.set_xlabel("says")
for ax in axes[:, 0]:
    ax.set_ylabel("truth")

# %%
# What is wrong with these answers
# --------------------------------
# The model assumes that judges err independently. Those of the same family do not, and ``diagnose`` detects it. A panel
# of six such judges is worth less than six independent ones, and labels and confidence allow for it.

for finding in model.diagnose().itertuples():
    print(f"{finding.severity}: {finding.finding}. {finding.detail}")
    print(f"    {finding.remedy}")
print(f"{len(answers) / len(model.tasks_):.1f} answers to a task are worth {model.n_effective_:.1f} independent ones")

# %%
# What to ask next
# ----------------
# ``next_labels`` names the answers where one more grade helps most, and whom to ask. We ask the people for 90 more
# grades and, for comparison, ask the same people for as many grades of answers chosen at random.

plan = model.next_labels(120)
plan = plan[plan["workers"].str.len() > 0].head(90)  # where nobody is left to ask, the list is empty
plan.head(4).round(2)

# %%

wanted = plan.assign(worker=plan["workers"].str[0])
planned = {name: rows["task"].to_numpy() for name, rows in wanted.groupby("worker")}
by_chance = {name: rng.permutation(np.setdiff1d(np.arange(N), graded[name]))[: len(planned[name])] for name in planned}
after = {
    "90 more, planned": DawidSkene().fit(pd.concat([answers, table(planned)])),
    "90 more, at random": DawidSkene().fit(pd.concat([answers, table(by_chance)])),
}

# %%
# Comparison with the truth
# -------------------------
# The majority vote follows the larks, because there are more of them. Plain EM, ``model="full"``, assumes independence;
# the default does not, and is more careful. Which of the two is closer to the truth depends on the data: here it is
# plain EM; on average over eleven published crowds it is the default (:doc:`/benchmarks`). Either way, it helps most to
# ask people where it matters.

fitted = {
    "majority vote": MajorityVote().fit(answers),
    "plain EM": DawidSkene(model="full").fit(answers),
    "default": model,
    **after,
}
wrong = {name: np.mean(fit.labels_ != GRADES[truth[fit.tasks_.astype(int)]]) for name, fit in fitted.items()}
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
bars = ax.barh(list(wrong), [100 * share for share in wrong.values()], color=["grey", "grey", *["tab:blue"] * 3])
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.invert_yaxis()
ax.margins(x=0.1)
ax.set(xlabel="wrong grades in percent")
plt.show()
