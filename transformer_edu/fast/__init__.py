"""What makes the model quick on some processors; switched on from outside, and the same function either way."""
