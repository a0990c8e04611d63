"""The store, the kernels, and the two backends that they live on."""
