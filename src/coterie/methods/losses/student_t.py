"""Student-t soft assignment, its sharpened target and the divergence between them (DEC), in logs.

Symbols follow Xie et al. (2016), "Unsupervised Deep Embedding for Clustering Analysis":
embeddings ``z``, centers ``mu``, soft assignment ``q``, target ``p``, soft cluster sizes ``f``.
Everything is a logarithm in float32, so no epsilon is needed and nothing under- or overflows.
"""

from __future__ import annotations

from coterie._util.torch import Tensor, nn, torch


def squared_distances(z: Tensor, mu: Tensor) -> Tensor:
    """Squared Euclidean distance of each row of ``z`` to each row of ``mu``, by a matrix product.

    Parameters
    ----------
    z : Tensor of shape (n, d)
    mu : Tensor of shape (k, d)

    Returns
    -------
    Tensor of shape (n, k)
        Not negative.
    """
    # Distances do not change under a shift; near the origin the product loses fewer digits.
    shift = mu.detach().mean(dim=0)
    z, mu = z - shift, mu - shift
    squares = z.square().sum(dim=1)[:, None] + mu.square().sum(dim=1)[None, :]
    return (squares - 2 * z @ mu.T).clamp(min=0)  # (n, k)


def log_assignment(z: Tensor, mu: Tensor, alpha: float = 1.0) -> Tensor:
    """Log of the similarity of each embedding to each center under a Student-t kernel, Eq. (1).

    Parameters
    ----------
    z : Tensor of shape (n, d)
    mu : Tensor of shape (k, d)
    alpha : float, default=1.0
        Degrees of freedom.

    Returns
    -------
    Tensor of shape (n, k)
        The exponentials of each row sum to one.
    """
    log_kernel = -(alpha + 1) / 2 * torch.log1p(squared_distances(z, mu) / alpha)  # (n, k)
    return log_kernel.log_softmax(dim=1)


def log_frequency(log_q: Tensor) -> Tensor:
    """Log of the soft cluster sizes ``f_k = sum_i q_ik``; carries no gradient.

    Parameters
    ----------
    log_q : Tensor of shape (n, k)

    Returns
    -------
    Tensor of shape (k,)
    """
    return log_q.detach().logsumexp(dim=0)


def log_target(log_q: Tensor, log_f: Tensor | None = None) -> Tensor:
    """Log of the sharpened assignment ``p ~ q^2 / f``, Eq. (3); carries no gradient.

    Parameters
    ----------
    log_q : Tensor of shape (n, k)
    log_f : Tensor of shape (k,), optional
        Log cluster sizes: of the whole corpus or a running mean. Default: those of ``log_q``.

    Returns
    -------
    Tensor of shape (n, k)
        The exponentials of each row sum to one. A single row is its own target.
    """
    log_q = log_q.detach()
    log_f = log_frequency(log_q) if log_f is None else log_f.detach()
    return (2 * log_q - log_f).log_softmax(dim=1)


def kl_to_target(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Mean over rows of ``KL(p || q)``, Eq. (2).

    Parameters
    ----------
    log_p, log_q : Tensor of shape (n, k)
        Log target and log assignment.

    Returns
    -------
    Tensor of shape ()
        Not negative; zero when both are equal.
    """
    return (log_p.exp() * (log_p - log_q)).sum(dim=1).mean()


class StudentTHead(nn.Module):
    """Trainable centers; the forward pass is :func:`log_assignment`."""

    def __init__(self, centers: Tensor, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha
        self.centers = nn.Parameter(centers.detach().clone().float())

    def forward(self, z: Tensor) -> Tensor:
        return log_assignment(z, self.centers, self.alpha)
