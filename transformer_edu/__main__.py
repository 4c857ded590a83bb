"""`python -m transformer_edu` is `transformer-edu`."""

from transformer_edu.book.commands.main import main

if __name__ == "__main__":
    main()
