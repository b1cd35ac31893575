"""
From verdicts to a decision
===========================

An evaluation team has two versions of a chatbot. Five LLM judges said of 400 answers whether they pass; three people
looked at some of them, with gaps; and for 60 answers the right verdict is known. What share passes, is version 2
better, whom can we trust, and may the judges replace the people?

The verdicts are simulated, so that the decision can be checked: two judges run the same model under two names, and one
judge lets almost everything pass. Nobody tells rectifact.
"""

# %%
# The verdicts
# ------------
# One row per verdict, judges and people in one table, with the version of the chatbot beside them. The command
#
# .. code-block:: console
#
#    $ rectifact evaluate verdicts.csv --people ann,bob,cai --gold gold.csv --by version --report report.html
#
# does what follows, and writes the report.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rectifact import evaluate

N = 400
rng = np.random.default_rng(1)
version = np.where(np.arange(N) % 2, "v2", "v1")
passes = rng.random(N) < np.where(version == "v1", 0.45, 0.7)


def says(accuracy, lenient=0.0):
    """Whether a worker says pass: right with this probability, and pass regardless in some cases."""
    return (passes ^ (rng.random(N) > accuracy)) | (rng.random(N) < lenient)


twin = says(0.8)
workers = {
    "gpt": says(0.9),
    "claude": says(0.87),
    "llama-a": twin,
    "llama-b": np.where(rng.random(N) < 0.98, twin, ~twin),
    "lax": says(0.9, lenient=0.5),
    "ann": says(0.95),
    "bob": says(0.93),
    "cai": says(0.9),
}
PEOPLE = ["ann", "bob", "cai"]
answered = {name: rng.random(N) < (0.5 if name in PEOPLE else 1) for name in workers}
verdicts = pd.concat(
    [
        pd.DataFrame(
            {"item": np.arange(N), "judge": name, "verdict": np.where(said, "pass", "fail"), "version": version}
        )[answered[name]]
        for name, said in workers.items()
    ]
)
known = rng.permutation(N)[:60]
gold = {int(i): "pass" if passes[i] else "fail" for i in known}
verdicts.sample(4, random_state=0)

# %%
# The decision
# ------------
# A few sentences: the share and the difference between versions, judges and people, and what to do next.

found = evaluate(verdicts, people=PEOPLE, gold=gold, positive="pass", by="version")
for sentence in found.decision():
    print(sentence)

# %%
# The share that passes
# ---------------------
# Gold labels decide, and the verdicts make the interval shorter. The truth, which we know because we made it, is marked
# by a cross.

rows = found.rates.rates
made = [0.575, 0.45, 0.7]
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
for offset, columns, colour, name in (
    (0.12, ("rate", "low", "high"), "tab:blue", "gold labels and verdicts"),
    (-0.12, ("human_rate", "human_low", "human_high"), "tab:orange", "gold labels alone"),
):
    value, low, high = (rows[column].to_numpy() for column in columns)
    places = np.arange(len(rows)) + offset
    ax.errorbar(value, places, xerr=[value - low, high - value], fmt="o", color=colour, label=name, capsize=3)
ax.plot(made, np.arange(len(rows)), "kx", label="truth")
ax.set_yticks(np.arange(len(rows)), rows["group"])
ax.invert_yaxis()
ax.set(xlabel="share that passes")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# Whom to trust
# -------------
# The twins are found although nobody named them, and the lenient judge is told apart from an inaccurate one: the bias
# says in which direction a judge errs, and by how many points.

for pair in found.pairs:
    print(f"{pair.one} and {pair.other} share {pair.shared:.0%} of their errors; twins: {pair.twins}")
for sentence in found.biases.words():
    print(sentence)

# %%
# Accuracies come with intervals. The cross is the share of right verdicts, which only we can count.

table = found.workers().sort_values("accuracy", ascending=False)
right = [np.mean((workers[name] == passes)[answered[name]]) for name in table["worker"]]
colours = ["tab:orange" if kind == "person" else "tab:blue" for kind in table["kind"]]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for place, (row, colour) in enumerate(zip(table.itertuples(), colours, strict=True)):
    ends = [[row.accuracy - row.accuracy_low], [row.accuracy_high - row.accuracy]]
    ax.errorbar([row.accuracy], [place], xerr=ends, fmt="o", color=colour, capsize=3)
ax.plot(right, np.arange(len(table)), "kx")
ax.set_yticks(np.arange(len(table)), table["worker"])
ax.invert_yaxis()
ax.set(xlabel="accuracy: judges blue, people orange")
plt.show()

# %%
# How far the labels can be believed
# ----------------------------------
# Before gold labels were used, they served as an audit. And because we know the truth of all 400, we can check the
# labels themselves.

print(found.audit.words())
labels = found.model.labels_ == np.where(passes[found.model.tasks_.astype(int)], "pass", "fail")
confidence = found.model.probas_.max(axis=1).mean()
print(f"In truth, {labels.mean():.1%} of all labels are right; their mean confidence is {confidence:.1%}.")

# %%
# What to do next
# ---------------

for step in found.next_steps():
    print(f"- {step.command or step.remedy}")
