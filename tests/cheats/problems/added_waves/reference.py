"""The sum of two complex waves in units of its mean strength: little is left of it only where both parts cancel."""

import numpy as np


def get_inputs():
    """Real and imaginary parts of a wave and of another that is added to it by half [128, 48]."""
    return [np.random.standard_normal((128, 48)).astype(np.float32) for _ in range(4)]


def forward(re, im, by_re, by_im):
    """Both parts of the sum, normed row by row."""
    real, imaginary = re + 0.5 * by_re, im + 0.5 * by_im
    strength = (np.square(real) + np.square(imaginary)).mean(axis=1, keepdims=True)
    return real / np.sqrt(strength + 1e-12), imaginary / np.sqrt(strength + 1e-12)
