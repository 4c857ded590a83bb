"""The translator of real text: its training command's runs, and the trained model with its subwords."""
