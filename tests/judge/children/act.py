"""A child for a sandbox: runs its payload, what stands above a line `# locked` before it is locked down."""

import json

if __name__ == "__main__":
    import bare  # noqa: F401 (before the package)

    from transformer_edu.book.sandbox import sandbox

    before, _, after = sandbox.receive().decode().partition("# locked\n")
    place = {"sandbox": sandbox, "found": None}
    exec(before, place)
    place["unprotected"] = sandbox.lock_down()
    exec(after, place)
    sandbox.answer(json.dumps(place["found"]).encode())
