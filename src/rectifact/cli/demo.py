"""rectifact demo and rectifact datasets: what there is to see, and to try."""

import numpy as np
from rich.table import Table

from rectifact.cli.terminal import output, say
from rectifact.crowd import DawidSkene
from rectifact.datasets import catalogue, data_folders, load_crowd

__all__ = ["datasets", "demo"]


def demo() -> None:
    """Show a result on real data: five anaesthetists who graded 45 patients (Dawid and Skene, 1979)."""
    crowd = load_crowd("anaesthetists")
    model = DawidSkene().fit(crowd.answers)
    result = model.result()
    unanimous = (crowd.answers.groupby("task")["label"].nunique() == 1).sum()
    output.print("[bold]Which grade is each patient?[/bold]")
    output.print("5 anaesthetists graded 45 patients from 1 (fit) to 4 (unfit) before an operation.")
    output.print(f"All readings agree on {unanimous} patients only. The Dawid-Skene model finds the grades behind")
    output.print("the readings, and the habits of each doctor, without being told any right answer.\n")

    grades = Table("grade", "share of patients", title="Grades found", title_justify="left")
    for grade, share in zip(model.classes_, model.priors_, strict=True):
        grades.add_row(str(grade), f"{share:.2f} {'█' * round(40 * share)}")
    output.print(grades)

    doctors = Table("doctor", "readings", "right", "commonest mistake", title="Doctors", title_justify="left")
    for row, confusion in zip(model.worker_report().itertuples(), model.confusions_, strict=True):
        mistakes = confusion * model.priors_ * (1 - np.eye(len(model.classes_)))
        said, true = np.unravel_index(mistakes.argmax(), mistakes.shape)
        mistake = f"says {model.classes_[said]} for {confusion[said, true]:.0%} of grade {model.classes_[true]}"
        doctors.add_row(str(row.worker), str(row.answers), f"{row.accuracy:.0%}", mistake)
    output.print(doctors)

    doubtful = Table("patient", "grade", "confidence", "readings", title="Most doubtful patients", title_justify="left")
    for row in result.sort_values("confidence", kind="stable").head(5).itertuples():
        given = crowd.answers.query("task == @row.task")["label"]
        doubtful.add_row(str(row.task), str(row.label), f"{row.confidence:.1%}", " ".join(map(str, given)))
    output.print(doubtful)
    sure = (result["confidence"] > 0.99).sum()
    output.print(f"{sure} of {len(result)} patients are graded with more than 99 % confidence.")
    output.print("Your own answers: [bold]rectifact labels answers.csv -o truth.csv --workers workers.csv[/bold]")


def datasets() -> None:
    """List the data sets with a known truth, and where their files are looked for."""
    table = Table("set", "file", "found")
    for row in catalogue().itertuples(index=False):
        table.add_row(*row)
    output.print(table)
    say("Files are looked for under " + " and then under ".join(map(str, data_folders())) + ".")
