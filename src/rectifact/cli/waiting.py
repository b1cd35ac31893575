"""How far a fit with several runs is, and how long it may still take."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from rectifact.core.monitor import Step


@dataclass
class Waiting:
    """What is known about the runs of a fit, from the steps that they report.

    While the first start runs, the remaining time is at most what the iterations that are left would take. Once a start
    has ended, the others are expected to take as long as it did, or as long as the current one takes already.

    Examples
    --------
    >>> seconds = iter([0.0, 2.0, 4.0])
    >>> waiting = Waiting(clock=lambda: next(seconds))
    >>> waiting.see(Step(1, (1, 2), {"iter": 10, "loss": 1.0}, 100, False))
    >>> waiting.see(Step(1, (1, 2), {"iter": 20, "loss": 0.5}, 100, True))
    >>> waiting.see(Step(2, (2, 2), {}, 100, False))
    >>> waiting.words(), waiting.done
    ('start 2 of 2', 0.5)
    """

    clock: Callable[[], float] = perf_counter
    place: tuple[int, int] | None = None
    iteration: int = 0
    max_iter: int = 1
    loss: float | None = None
    ended: list[float] = field(default_factory=list)
    _begun: dict[int, float] = field(default_factory=dict)
    _now: float = 0.0
    _most: float = 0.0

    def see(self, step: Step) -> None:
        """Take in what a run reports; trials count as work, but not as starts."""
        self._now = self.clock()
        self.place, self.max_iter = step.place, step.max_iter
        self.iteration, self.loss = int(step.row.get("iter", 0)), step.row.get("loss")
        begun = self._begun.setdefault(step.run, self._now)
        if step.ended:
            del self._begun[step.run]
            if step.place is not None:
                self.ended.append(self._now - begun)

    @property
    def n_starts(self) -> int:
        """How many there are, as far as is known."""
        return max(len(self.ended), self.place[1] if self.place else 1)

    @property
    def done(self) -> float:
        """Share of the work that is done; it never falls."""
        share = 0.0 if self.place is None or self.n_starts == len(self.ended) else self._share()
        self._most = max(self._most, min(1.0, (len(self.ended) + share) / self.n_starts))
        return self._most

    def remaining(self) -> tuple[str, float] | None:
        """``"about"`` or ``"at most"``, and seconds; None where nothing is known."""
        if self.place is None or self.n_starts == len(self.ended):
            return None
        if self.ended:
            mean = self._mean()
            spent = sum(min(self._now - begun, mean) for begun in self._begun.values())
            return "about", max((self.n_starts - len(self.ended)) * mean - spent, 0.0)
        if not self.iteration or not self._begun:
            return None
        each = (self._now - min(self._begun.values())) / self.iteration
        return "at most", each * (self.max_iter * self.n_starts - self.iteration)

    def words(self) -> str:
        """Start and iteration."""
        parts = []
        if self.place is None:
            parts.append("trying")
        elif self.n_starts > 1:
            parts.append(f"start {self.place[0]} of {self.n_starts}")
        if self.iteration:
            parts.append(f"iteration {self.iteration}")
        return ", ".join(parts)

    def _share(self) -> float:
        """Share of the current start that is done."""
        if not self.ended:
            return self.iteration / self.max_iter
        return min(sum(self._now - begun for begun in self._begun.values()) / max(self._mean(), 1e-9), 0.99)

    def _mean(self) -> float:
        """Seconds that a start takes: the mean of those that have ended, and of those that take longer already."""
        mean = sum(self.ended) / len(self.ended)
        known = [*self.ended, *(self._now - begun for begun in self._begun.values() if self._now - begun > mean)]
        return sum(known) / len(known)
