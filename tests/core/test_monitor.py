import logging

import pytest
from sklearn.exceptions import ConvergenceWarning

from rectifact.core.monitor import LogProgress, Monitor, set_fit_report


def run(monitor, losses, settled=lambda t: True):
    for t in monitor:
        monitor.record(lambda: losses[t], settled=settled(t))
    return monitor


def test_converges_when_the_change_is_small_against_the_first_loss():
    monitor = run(Monitor(max_iter=9, tol=1e-2), [100, 50, 49.5, 49, 0])
    assert (monitor.stop_reason, monitor.n_iter, monitor.converged) == ("converged", 3, True)
    assert [row["loss"] for row in monitor.history] == [100, 50, 49.5]


def test_a_first_check_is_never_convergence():
    assert run(Monitor(max_iter=1), [5.0]).stop_reason == "max_iter"


def test_converging_at_the_last_iteration_is_not_running_out():
    assert run(Monitor(max_iter=2, tol=1e-2), [1.0, 1.0]).stop_reason == "converged"


def test_a_rise_is_neither_convergence_nor_the_end():
    monitor = run(Monitor(max_iter=4, tol=1e-3), [1.0, 2.0, 1.5, 0.5])
    assert (monitor.stop_reason, monitor.n_iter) == ("max_iter", 4)


def test_a_rise_ends_a_monotone_run():
    assert run(Monitor(monotone=True, tol=1e-3), [1.0, 0.5, 0.8]).stop_reason == "loss_increased"
    assert run(Monitor(monotone=True, tol=1e-3), [1.0, 1.0 + 1e-9]).stop_reason == "converged"


def test_patience_counts_small_changes_in_a_row():
    losses = [1.0, 1.0, 0.5, 0.5, 0.5, 0.5]
    assert run(Monitor(max_iter=6, patience=2, tol=1e-6), losses).n_iter == 5


def test_nothing_stops_an_unsettled_run():
    monitor = run(Monitor(max_iter=5, tol=1e-2, monotone=True), [1, 1, 2, 1, 1], settled=lambda t: t >= 4)
    assert (monitor.stop_reason, monitor.n_iter) == ("converged", 5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_stops_the_run(bad):
    assert run(Monitor(), [1.0, bad]).stop_reason == "not_finite"


def test_the_loss_is_evaluated_only_at_checks():
    evaluated = []

    def loss(t):
        evaluated.append(t)
        return 1.0 / (t + 1)

    monitor = Monitor(max_iter=10, check_every=4, tol=0)
    for t in monitor:
        monitor.record(lambda: loss(t))
    assert evaluated == [3, 7, 9]
    assert [row["iter"] for row in monitor.history] == [4, 8, 10]


def test_every_callback_sees_every_row_and_one_may_stop():
    rows = []
    monitor = run(Monitor(tol=0, callbacks=[lambda row: row["iter"] == 3, rows.append]), [4, 3, 2, 1])
    assert (monitor.stop_reason, monitor.n_iter, len(rows)) == ("callback", 3, 3)


def test_one_monitor_serves_one_run():
    monitor = run(Monitor(max_iter=2), [2, 1])
    with pytest.raises(RuntimeError, match="make a new one"):
        iter(monitor).__next__()


def test_negative_losses_converge_too():
    assert run(Monitor(tol=1e-3), [-100.0, -200.0, -200.01]).stop_reason == "converged"


class Estimator:
    checkpoint = None


@pytest.mark.parametrize(("losses", "warns"), [([1, 1], False), ([1, 0.5], True)])
def test_fit_report(losses, warns, recwarn):
    estimator = Estimator()
    set_fit_report(estimator, run(Monitor(max_iter=2), losses))
    assert estimator.n_iter_ == 2
    assert estimator.converged_ is not warns
    assert len(estimator.history_) == 2
    assert [issubclass(w.category, ConvergenceWarning) for w in recwarn] == [True] * warns
    if warns:
        message = recwarn[0].message
        assert str(message).endswith("stopped at the limit of 2 iterations without converging. Raise max_iter, or tol.")
        assert "Raise --max-iter, or tol" in message.on_command_line({"max_iter": "--max-iter"})


def test_progress_is_logged_with_the_time_to_go(caplog):
    with caplog.at_level(logging.INFO, logger="rectifact"):
        progress = LogProgress("NMD", max_iter=10, every=1.0)
        for iteration, seconds in [(1, 0.2), (2, 0.4), (10, 2.0)]:
            progress({"iter": iteration, "loss": 0.5, "seconds": seconds})
    assert [record.message for record in caplog.records] == [
        "NMD: iteration 1 of at most 10, loss 0.5, 0.2 s each, at most 2 s to go",
        "NMD: iteration 10 of at most 10, loss 0.5, 0.2 s each, at most 0 s to go",
    ]


def test_a_gap_decides_and_not_the_loss():
    gaps = iter([1.0, 0.1, 0.01, 0.001])
    monitor, x = Monitor(max_iter=10, tol=0.005), 1.0
    for _ in monitor:
        x -= 1e-9  # the loss hardly changes
        monitor.record(lambda: x, gap=lambda: next(gaps))
    assert (monitor.stop_reason, monitor.n_iter) == ("converged", 4)
    assert [row["gap"] for row in monitor.history] == [1.0, 0.1, 0.01, 0.001]


def test_a_loss_that_rests_away_from_a_stationary_point_has_stalled():
    monitor = Monitor(max_iter=10, tol=0.005)
    for _ in monitor:
        monitor.record(lambda: 1.0, gap=lambda: 0.5)
    assert (monitor.stop_reason, monitor.converged, monitor.n_iter) == ("stalled", False, 2)


def test_a_loop_may_know_itself_that_it_has_converged():
    asked = []
    monitor = Monitor(max_iter=9, tol=0, check_every=2)
    for t in monitor:
        monitor.record(lambda: -t, converged=lambda: asked.append(t) or t >= 5)
    assert (monitor.stop_reason, monitor.n_iter, asked) == ("converged", 6, [1, 3, 5])


@pytest.mark.parametrize(("loss", "callbacks", "reason"), [(1.0, [bool], "callback"), (float("nan"), [], "not_finite")])
def test_other_reasons_come_before_that(loss, callbacks, reason):
    monitor = Monitor(callbacks=callbacks)
    for _ in monitor:
        monitor.record(lambda: loss, converged=lambda: True)
    assert (monitor.stop_reason, monitor.n_iter) == (reason, 1)
