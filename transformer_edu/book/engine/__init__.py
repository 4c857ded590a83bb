"""The model in the reader's browser: its equations in JavaScript (js/), and the file of weights that they read."""
