r"""SymNMF-Net: iterations of SymNMF unrolled into blocks, whose linear layers are trained.

Block i maps :math:`U_{i-1}` to :math:`U_i = ReLU(P_i (U_{i-1}^T U_{i-1} + \lambda I)^{-1})` ([1], Figure 2.1): an
inversion layer, a linear layer :math:`P_i` and a ReLU. With :math:`P_i = (X + \lambda I) U_{i-1}`, where training
starts (Algorithm 1), a block is one step of equation (4). The loss is that of section 4,

.. math:: \sum_i \|X - U_i U_i^T\|^2 + \beta \|P_i - (X + \lambda I) U_{i-1}\|^2 + \text{terms}(U_i),

with :math:`\|X - U U^T\|^2 = \|X\|^2 - 2 tr(U^T X U) + \|U^T U\|^2`: X stays sparse and ``U U'`` is never formed.

References
----------
[1] M. Li, H. Kong, Z. Lin, "SymNMF-Net for the symmetric NMF problem", arXiv:2205.13214.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch

from rectifact import kernels
from rectifact.core.monitor import Monitor
from rectifact.graph.recipes import SETTINGS as SETTINGS
from rectifact.graph.recipes import Recipe as Recipe
from rectifact.graph.solvers import gap

Term = Callable[[torch.Tensor], torch.Tensor]
"""A penalty on U: maps a tensor (n, r) to a number, by operations that torch can differentiate."""


ADAM = ("step", "exp_avg", "exp_avg_sq")
"""What Adam keeps for each parameter."""


@dataclass
class Net:
    """Parameters of a net: linear layers ``P`` (blocks, n, r), the number ``lam``, and the input ``U0`` (n, r).

    ``classical`` are the outputs of equation (4) from the same input, and that input first.
    """

    P: torch.Tensor
    lam: torch.Tensor
    U0: torch.Tensor
    classical: Sequence[torch.Tensor] = ()

    def __post_init__(self) -> None:
        self._eye = torch.eye(self.U0.shape[1], dtype=self.U0.dtype, device=self.U0.device)
        self._gram = self.U0.T @ self.U0

    def forward(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Outputs of all blocks, after the input, and the inverses in between."""
        outputs, inverses, G = [self.U0], [], self._gram
        for i, P in enumerate(self.P):
            G = outputs[-1].T @ outputs[-1] if i else G
            inverses.append(torch.linalg.inv(G + self.lam * self._eye))
            outputs.append(torch.relu(P @ inverses[-1]))
        return outputs, inverses


def start(X: torch.Tensor, U0: torch.Tensor, lam: float, n_blocks: int) -> Net:
    """Algorithm 1: linear layers with which each block takes one step of equation (4)."""
    number = torch.tensor(lam, dtype=U0.dtype, device=U0.device)
    net = Net(torch.empty((0, *U0.shape), dtype=U0.dtype, device=U0.device), number, U0)
    for _ in range(n_blocks):
        U = net.forward()[0][-1]
        net.P = torch.cat([net.P, (X @ U + number * U)[None]])
    net.classical = net.forward()[0]
    return net


def loss(X: torch.Tensor, squared: float, net: Net, beta: float = 0.0, terms: Iterable[Term] = ()) -> torch.Tensor:
    """The loss of section 4. Autograd can differentiate it; :func:`gradients` is faster."""
    outputs, _ = net.forward()
    total = torch.zeros((), dtype=net.U0.dtype, device=net.U0.device)
    for P, before, U in zip(net.P, outputs, outputs[1:], strict=False):
        G = U.T @ U
        total = total + squared - 2 * (U * (X @ U)).sum() + (G * G).sum()
        if beta:
            total = total + beta * ((P - X @ before - net.lam * before) ** 2).sum()
        total = total + sum(term(U) for term in terms)
    return total


def gradients(
    X: torch.Tensor,
    net: Net,
    beta: float = 0.0,
    terms: Sequence[Term] = (),
    *,
    keep_alive: bool = False,
    learn_lambda: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Derivatives of :func:`loss` with respect to P and lambda, by hand; that of lambda is 0 if it is not learned.

    ``keep_alive`` lets the gradient through the ReLU also where the output is zero and the gradient would raise it.
    """
    outputs, inverses = net.forward()
    d_P, d_lam = torch.empty_like(net.P), torch.zeros_like(net.lam)
    carried: torch.Tensor | None = None  # derivative of the later blocks' losses with respect to this block's output
    for i in reversed(range(len(net.P))):
        before, U, M = outputs[i], outputs[i + 1], inverses[i]
        d_U = torch.addmm(X @ U, U, U.T @ U, beta=-4, alpha=4)  # 4 (U U'U - X U)
        d_U = sum((_derivative(term, U) for term in terms), start=d_U if carried is None else d_U + carried)
        d_Y = d_U.mul_((U > 0) | (d_U < 0) if keep_alive else U > 0)
        torch.mm(d_Y, M, out=d_P[i])
        if i or learn_lambda:
            d_S = -M @ (net.P[i].T @ d_Y) @ M
            d_lam = d_lam + torch.trace(d_S) if learn_lambda else d_lam
            carried = before @ (d_S + d_S.T) if i else None
        if beta:
            apart = 2 * beta * (net.P[i] - X @ before - net.lam * before)
            d_P[i] += apart
            d_lam = d_lam - (apart * before).sum() if learn_lambda else d_lam
            if carried is not None:
                carried = carried - X @ apart - net.lam * apart
    return d_P, d_lam


def _derivative(term: Term, U: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        V = U.detach().requires_grad_()
        (found,) = torch.autograd.grad(term(V), V)
    return found


@dataclass(frozen=True)
class Stability:
    """What Theorem 1 and Proposition 1 of [1] say about a net, in units of its graph.

    Parameters
    ----------
    epsilon : float
        Largest distance of a linear layer from the classical step, relative to it (equation 5).
    a : float
        Largest Frobenius norm of an output, of the net or of the classical iteration.
    B : float
        Spectral norm of X.
    lam : float
        The net's lambda.
    distance : float
        ``(|X| + |X - U0 U0'|) / 2`` in Frobenius norms.
    """

    epsilon: float
    a: float
    B: float
    lam: float
    distance: float

    @property
    def least_lambda(self) -> float:
        """What lambda has to exceed by Proposition 1."""
        return max(self.a**2 + 4 * self.a * self.epsilon, self.distance)

    @property
    def C(self) -> float:
        """The constant of Theorem 1: outputs stay within C epsilon of the classical ones. Infinite if lambda <= a^2."""
        above = self.lam - self.a**2
        if above <= 0:
            return inf
        return (self.B + self.lam) * (4 * self.a**2 / above**2 + self.a / above)

    @property
    def holds(self) -> bool:
        """Whether lambda is as large as Proposition 1 asks, to rounding."""
        return self.lam >= self.least_lambda * (1 - 1e-6)


@torch.no_grad()
def stability(X: torch.Tensor, squared: float, net: Net, unit: float, norm: float) -> Stability:
    """Theorem 1 and Proposition 1 for a trained net.

    Parameters
    ----------
    X : tensor of shape (n, n)
    squared : float
        Its squared Frobenius norm.
    net : Net
    unit : float
        What the graph was divided by to give X.
    norm : float
        Spectral norm of the graph.
    """
    epsilon = max(float((P - P0).norm() / P0.norm()) for P, P0 in zip(net.P, _classical_layers(X, net), strict=True))
    a = max(float(U.norm()) for U in (*net.forward()[0], *net.classical))
    distance = 0.5 * (squared**0.5 + _distance(X, squared, net.U0))
    return Stability(epsilon, unit**0.5 * a, norm, unit * float(net.lam), unit * distance)


def _classical_layers(X: torch.Tensor, net: Net) -> list[torch.Tensor]:
    """Linear layers with which each block would take the classical step, for the lambda of the net."""
    return [X @ U + net.lam * U for U in net.classical[:-1]]


def _bound_layers(X: torch.Tensor, net: Net, epsilon: float) -> None:
    """Bring linear layers back to a relative distance of ``epsilon`` from the classical step (equation 5)."""
    for P, P0 in zip(net.P, _classical_layers(X, net), strict=True):
        apart = P - P0
        P.copy_(P0 + apart * (epsilon * P0.norm() / apart.norm()).clamp(max=1).nan_to_num(1.0))


@torch.no_grad()
def train(
    X: torch.Tensor,
    squared: float,
    net: Net,
    recipe: Recipe,
    rate: float,
    *,
    terms: Sequence[Term],
    monitor: Monitor,
    unit: float = 1.0,
    show: Callable[[torch.Tensor], Any] | None = None,
) -> torch.Tensor:
    """Train the net by Adam and return the output of its last block; the loss is reported relative to ``squared``.

    ``unit`` is what the graph was divided by to give X: the bound of Proposition 1 depends on units if epsilon is not
    zero. ``show`` makes what callbacks see of the last block's output.
    """
    for parameter in (net.P, net.lam):
        parameter.requires_grad_()
    trained = [net.P, net.lam] if recipe.learn_lambda else [net.P]
    optimizer = torch.optim.Adam(trained, lr=rate, fused=True)
    anneal = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, monitor.max_iter) if recipe.cosine else None
    least = 0.5 * (squared**0.5 + _distance(X, squared, net.U0))
    _take_up(trained, optimizer, anneal, monitor)
    step = (
        _fused_step(X, net, optimizer) if _is_fused(X, net, recipe, terms) else _step(X, net, recipe, terms, optimizer)
    )
    for _ in monitor:
        step()
        if anneal is not None:
            anneal.step()
        if recipe.epsilon is not None:
            _bound_layers(X, net, recipe.epsilon)
        if recipe.learn_lambda:
            sizes = [(U * U).sum() for U in (*net.forward()[0], *(net.classical if recipe.epsilon else ()))]
            size = torch.stack(sizes).max()
            if recipe.epsilon is not None:  # a little more, since P is bounded for the lambda before
                size = 1.02 * (size + 4 * (recipe.epsilon / unit**0.5) * size.sqrt())
            net.lam.clamp_(min=size.clamp(min=least))
        monitor.record(
            lambda: loss(X, squared, net, recipe.beta, terms) / squared,
            settled=False,  # a loss in single precision may rest while the rate falls
            gap=lambda: _gap(X, net.forward()[0][-1], terms),
            state=lambda: (
                optimizer.param_groups[0]["lr"],
                *((parameter, *(optimizer.state[parameter][name] for name in ADAM)) for parameter in trained),
            ),
            factor=None if show is None else lambda: show(net.forward()[0][-1]),
        )
    return net.forward()[0][-1]


def _step(X: torch.Tensor, net: Net, recipe: Recipe, terms: Sequence[Term], optimizer: Any) -> Callable[[], None]:
    """A step of Adam on all parameters."""

    def step() -> None:
        net.P.grad, net.lam.grad = gradients(
            X, net, recipe.beta, terms, keep_alive=recipe.keep_alive, learn_lambda=recipe.learn_lambda
        )
        optimizer.step()
        if recipe.keep_alive:
            net.P.clamp_(min=0)

    return step


def _is_fused(X: torch.Tensor, net: Net, recipe: Recipe, terms: Sequence[Term]) -> bool:
    """Whether the epochs are those of ``kernels.fused_net``."""
    plain = replace(SETTINGS["repaired"], learning_rate=recipe.learning_rate, cosine=recipe.cosine) == recipe
    return plain and len(net.P) == 1 and not terms and kernels.net_is_fused(X, net.P.shape[-1])


def _fused_step(X: torch.Tensor, net: Net, optimizer: Any) -> Callable[[], None]:
    """:func:`_step` of the plain recipe with one block, whose inverse never changes."""
    from rectifact.kernels import fused_net

    kept = {"step": torch.zeros((), device=X.device)} | {name: torch.zeros_like(net.P) for name in ADAM[1:]}
    state = optimizer.state[net.P] = dict(optimizer.state[net.P]) or kept
    P, adam = net.P.detach()[0], {"step": state["step"]} | {name: state[name][0] for name in ADAM[1:]}
    advance = fused_net.epochs(X, P, net.forward()[1][0], adam)

    def step() -> None:
        advance(optimizer.param_groups[0]["lr"])
        optimizer.step()  # does nothing, as no gradient is set; the schedule of rates wants to see it

    return step


def _take_up(trained: Sequence[torch.Tensor], optimizer: Any, anneal: Any, monitor: Monitor) -> None:
    """Continue with the parameters, moments and learning rate that an interrupted run has saved."""
    kept = ((p, torch.zeros((), device=p.device), p, p) for p in trained)
    rate, *state = monitor.resume((optimizer.param_groups[0]["lr"], *kept))
    if not monitor.n_iter:
        return
    optimizer.param_groups[0]["lr"] = rate
    if anneal is not None:
        anneal.last_epoch = monitor.n_iter
    for parameter, (values, *moments) in zip(trained, state, strict=True):
        parameter.copy_(values)
        optimizer.state[parameter] = dict(zip(ADAM, moments, strict=True))


def _distance(X: torch.Tensor, squared: float, U: torch.Tensor) -> float:
    G = U.T @ U
    return max(float(squared - 2 * (U * (X @ U)).sum() + (G * G).sum()), 0.0) ** 0.5


def _gap(X: torch.Tensor, U: torch.Tensor, terms: Sequence[Term]) -> float:
    XU = X @ U
    gradient = 4 * (U @ (U.T @ U) - XU)
    for term in terms:
        gradient = gradient + _derivative(term, U)
    return gap(U, XU, gradient)


def partial_labels(nodes: torch.Tensor, classes: torch.Tensor, weight: float, floor: float) -> Term:
    """Task loss: ``weight`` times the sum over ``nodes`` of minus the log of the membership in their class.

    ``floor`` is added to each entry of U, which may be zero.
    """

    def term(U: torch.Tensor) -> torch.Tensor:
        rows = U[nodes] + floor
        chosen = rows.gather(1, classes[:, None])[:, 0]
        return -weight * torch.log(chosen / rows.sum(dim=1)).sum()

    return term
