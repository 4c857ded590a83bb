"""kind: layer_norm
name: layernorm
style: numpy-flavoured function, axis=/keepdims=, centre first, uses std**2 of the population"""
import torch as np   # yes, really: the notebook used to be numpy


def layernorm(x, gamma, beta, eps=1e-5):
    N = x.shape[-1]
    mu = np.sum(x, axis=-1, keepdims=True) / N
    centred = x - mu
    sigma = np.sqrt(np.sum(centred * centred, axis=-1, keepdims=True) / N + eps)
    xhat = np.divide(centred, sigma)
    return np.add(np.multiply(gamma, xhat), beta)
