"""Random kernels, compiled and run with and without the extension."""
