"""What every room stands on: checks of arguments, shapes, devices, seeds, files, evaluation mode, key-value cache."""
