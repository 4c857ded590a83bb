"""Experiments whose results the book shows as recordings."""
