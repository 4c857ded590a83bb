"""What makes a recording and nothing else; see `transformer_edu.book.experiments`."""
