"""Rules about mistakes that are mistakes on every version: tracing, purity, keys, shapes, arrays, gradients, speed."""
