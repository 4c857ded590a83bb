"""The commands of `transformer-edu`: each module adds its arguments to a parser and runs."""
