"""One step of LAMB, rows being layers: Adam's direction, as long as the layer's own weights are."""

import numpy as np

M, N = 64, 96


def get_inputs():
    """Weights, gradient, first and second moment [64, 96]."""
    theta, grad, m = (np.random.standard_normal((M, N)).astype(np.float32) for _ in range(3))
    return [theta, grad, m, np.abs(np.random.standard_normal((M, N))).astype(np.float32)]


def forward(theta, grad, m, v):
    """The new weights [64, 96]; a layer of zeros, or a step of nothing, keeps the ratio one."""
    m = 0.9 * m + (1 - 0.9) * grad
    v = 0.999 * v + (1 - 0.999) * np.square(grad)
    step = m / (np.sqrt(v) + 1e-6) + 0.01 * theta
    long, length = (np.sqrt(np.sum(np.square(one), axis=1, keepdims=True)) for one in (theta, step))
    ratio = np.where((long > 0) & (length > 0), long / np.where(length > 0, length, 1.0), 1.0)
    return theta - 1e-2 * ratio * step
