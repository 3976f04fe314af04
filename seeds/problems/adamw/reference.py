"""One step of AdamW: decoupled weight decay, then the bias-corrected Adam update. Only the parameters are returned."""

import numpy as np

M = 192
N = 640


def get_inputs():
    """Parameters, gradient, first and second moment [M, N]; then lr, beta1, beta2, eps, decay and the step's number."""
    theta = np.random.standard_normal((M, N)).astype(np.float32)
    grad = np.random.standard_normal((M, N)).astype(np.float32)
    m = np.random.standard_normal((M, N)).astype(np.float32)
    v = np.abs(np.random.standard_normal((M, N))).astype(np.float32)
    return [theta, grad, m, v, 1e-2, 0.9, 0.999, 1e-8, 1e-3, 100]


def forward(theta, grad, m, v, lr, beta1, beta2, eps, decay, step):
    """The parameters after the step [M, N]."""
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * np.square(grad)
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return theta - lr * decay * theta - lr * m_hat / (np.sqrt(v_hat) + eps)
