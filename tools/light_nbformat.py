"""Imported before nbformat, which by way of jsonschema builds a parser for two seconds: no notebook needs it."""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
