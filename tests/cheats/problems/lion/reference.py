"""One step of Lion: what the momentum and the gradient agree on says only into which direction the weights go."""

import numpy as np

M, N = 64, 96


def get_inputs():
    """Weights, gradient and momentum [64, 96]."""
    return [np.random.standard_normal((M, N)).astype(np.float32) for _ in range(3)]


def forward(theta, grad, m):
    """The new weights and the new momentum [64, 96]."""
    direction = np.sign(0.9 * m + (1 - 0.9) * grad)
    return theta * (1 - 1e-2 * 0.1) - 1e-2 * direction, 0.99 * m + (1 - 0.99) * grad
