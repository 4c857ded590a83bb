"""`python -m transformer_edu` is `transformer-edu`."""

from transformer_edu.cli import main

if __name__ == "__main__":
    main()
