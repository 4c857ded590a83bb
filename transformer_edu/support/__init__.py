"""What every room stands on: checks of arguments, shapes, devices, seeds, files, evaluation mode, and the key-value cache."""
