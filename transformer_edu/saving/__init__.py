"""Models in files: weights with the configuration that gives them their places, checksums, and cards."""
