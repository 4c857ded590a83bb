"""One unit of the last printed place, and not a character more."""

import base64
import io

import numpy as np
import pytest
from agreement import agree, same_picture
from PIL import Image

FIGURE = '<div data-widget="x" data-alt="0.79 of it"><script type="application/json">{}</script><!--still--></div>'


@pytest.mark.parametrize(
    ("stored", "fresh"),
    [
        ("loss 0.1234 nats", "loss 0.1235 nats"),
        ("loss 0.0999", "loss 0.1"),  # a format that drops zeros, as in %.3g
        ("−0.00 and 1.2e-05", "+0.01 and 1.1e-05"),
        ("tensor([[0.7311, 0.2689]])", "tensor([[0.7310, 0.2690]])"),
        ("a  9.99 b\nc 10.23 d", "a 10.00 b\nc 10.23 d"),
        ("1,234.5 ms", "1,234.6 ms"),
        ("<td>0.50</td>", "<td>0.51</td>"),
        (FIGURE.format('{"w": [0.5, 0.1234], "n": 3}'), FIGURE.format('{"w": [0.4999, 0.1235], "n": 3}')),
        (FIGURE.format('{"w": [4.400001, 0.0]}'), FIGURE.format('{"w": [4.400003, 8e-06]}')),
        (FIGURE.format('{"w": [1e-06, 0.0]}'), FIGURE.format('{"w": [0.0, 3e-06]}')),
        (FIGURE.format('{"id": "bertviz-0123456789ab"}'), FIGURE.format('{"id": "bertviz-ba9876543210"}')),
        (FIGURE.format("[1]"), FIGURE.format("[1]").replace("<!--still-->", '<img class="te-still" src="x">')),
    ],
)
def test_a_unit_of_the_last_printed_place_may_differ(stored, fresh):
    assert agree(stored, fresh)
    assert agree(fresh, stored)


@pytest.mark.parametrize(
    ("stored", "fresh"),
    [
        ("loss 0.1234 nats", "loss 0.1236 nats"),
        ("loss 0.1234 nats", "loss 0.1234  nats"),
        ("loss 0.1234 nats", "loss 0.1234 bits"),
        ("0.5", "0.5000"),
        ("189,568 parameters", "189,569 parameters"),
        ("ids [1, 4, 7]", "ids [1, 4, 8]"),
        ("nan", "0.0"),
        ("0.1", "0.1 0.1"),
        ("layer1 0.2", "layer2 0.2"),
        ("0.25\n", "0.25"),
        (FIGURE.format('{"w": [0.5, 0.1234]}'), FIGURE.format('{"w": [0.4, 0.1234]}')),
        (FIGURE.format('{"w": [0.5, 0.1234]}'), FIGURE.format('{"w": [0.5]}')),
        (FIGURE.format('{"w": [4.400001, 0.0]}'), FIGURE.format('{"w": [4.400001, 0.0002]}')),
        (FIGURE.format('{"token": "cat"}'), FIGURE.format('{"token": "hat"}')),
        (FIGURE.format('{"n": 3}'), FIGURE.format('{"n": 4}')),
        (FIGURE.format('{"n": 3}'), FIGURE.format('{"n": true}')),
        (FIGURE.format('{"n": 3}'), FIGURE.format('{"n": 3').replace("0.79", "0.78")),
        (FIGURE.format("{}"), FIGURE.format("{}").replace("0.79", "0.77")),
        (FIGURE.format("{}"), FIGURE.format("{}").replace('data-widget="x"', 'data-widget="y"')),
        (FIGURE.format('{"a": 1}'), FIGURE.format('{"a": 1, "b": []}')),
        (FIGURE.format('{"a": 1}'), FIGURE.format('{"a": 1, "b": {}}')),
    ],
)
def test_anything_more_is_a_difference(stored, fresh):
    assert not agree(stored, fresh)
    assert not agree(fresh, stored)


def picture(pixels):
    raw = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(raw, "PNG")
    return base64.b64encode(raw.getvalue()).decode()


def test_a_picture_may_differ_by_rounding_and_not_by_what_it_shows():
    grey = np.full((4, 4, 3), 128)
    assert same_picture(picture(grey), picture(grey + 2))
    assert not same_picture(picture(grey), picture(grey + 3))
    assert not same_picture(picture(grey), picture(grey[:3]))
