"""All that is there because this is a book: figures, pictures, checks, the judge, the classroom, what was recorded.

Nothing outside this folder imports from it.
"""
