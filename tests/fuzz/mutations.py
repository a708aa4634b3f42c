"""Ways to spoil the bytes of a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

LARGEST = 1 << 21
"""Bytes that a file may grow to: more would measure the machine."""

TOKENS = [
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0", b"\0\0\0\0", b"\n", b"\r\n", b"\r", b"\t",
    b'"', b'""', b"\xff", b"\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    "\u2028\x85\u3000\ufeff\ufdd0\uffff".encode(), "好".encode("gb18030"), "好".encode("utf-16-le"),
    b"\x1b$B9%\x1b(B", b"<tu>", b"</tu>", b"<seg>", b"</seg>", b"<tuv xml:lang='zh'>", b"<!--",
    b"<![CDATA[", b"]]>", b"<!DOCTYPE tmx [", b"<!ENTITY a 'b'>", b"&a;", b"&#0;",
    b"&#xFFFFFFFFFF;", b"&#x110000;", b"&amp;amp;", b"<?xml version='1.0' encoding='utf-7'?>",
    b"encoding='GBK'", b'msgid ""\n', b'msgstr[9] "x"\n', b"#~ ", b"#, fuzzy\n",
    b'"Plural-Forms: plural=n%0;\\n"\n', b"\\x\\777\\",
    b'"Content-Type: text/plain; charset=x\\n"\n', b"<doc docid='a'>", b"<seg id=1>", b"</doc>",
    b"<refset>", b'{"zh": "a", "en": "b"}\n', b"[" * 3000, b'{"zh":' * 3000, b"1" * 5000, b"1e999",
    b"NaN", b"\\ud800", b"\\u0000", b"PAR1", b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh9",
    b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"ustar", b"-1", b"%s{}",
]  # fmt: skip

Mutation = Callable[[bytes, Random], bytes]


def cut(data: bytes, random: Random) -> bytes:
    start, size = _place(data, random), random.choice([1, 2, 7, 100, len(data)])
    return data[:start] + data[start + size :]


def flip(data: bytes, random: Random) -> bytes:
    spoilt = bytearray(data)
    for _ in range(random.randint(1, 8) if data else 0):
        spoilt[random.randrange(len(spoilt))] ^= 1 << random.randrange(8)
    return bytes(spoilt)


def insert_bytes(data: bytes, random: Random) -> bytes:
    return _inserted(data, random.randbytes(random.choice([1, 2, 3, 50])), random)


def insert_token(data: bytes, random: Random) -> bytes:
    return _inserted(data, random.choice(TOKENS), random)


def insert_huge(data: bytes, random: Random) -> bytes:
    unit = random.choice(
        [b"x", b" ", b'"', b"<", b"&", b"\t", b"\0", b"a b ", b"1", "好".encode(), b"("]
    )
    return _inserted(data, unit * random.choice([1000, 70_000, 1_000_000]), random)


def insert_tokens(data: bytes, random: Random) -> bytes:
    for _ in range(random.randint(2, 30)):
        data = insert_token(data, random)
    return data


def repeat(data: bytes, random: Random) -> bytes:
    start = _place(data, random)
    part = data[start : start + random.choice([1, 10, 100, 10_000])]
    return _inserted(data, part * random.choice([2, 10, 300]), random)


def shuffle_lines(data: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    random.shuffle(lines)
    return b"".join(lines)


def drop_lines(data: bytes, random: Random) -> bytes:
    share = random.random()
    return b"".join(line for line in data.splitlines(keepends=True) if random.random() < share)


def change_number(data: bytes, random: Random) -> bytes:
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return data
    found = random.choice(numbers)
    value = random.choice([b"0", b"-1", b"99999999999999999999", b"7" * 6000, b"1.5", b""])
    return data[: found.start()] + value + data[found.end() :]


def other_line_ends(data: bytes, random: Random) -> bytes:
    return data.replace(b"\n", random.choice([b"\r\n", b"\r", b"\n\n", b"", b"\0\n"]))


MUTATIONS: tuple[Mutation, ...] = (
    cut, flip, insert_bytes, insert_token, insert_huge, insert_tokens, repeat, shuffle_lines,
    drop_lines, change_number, other_line_ends,
)  # fmt: skip


def splice(data: bytes, other: bytes, random: Random) -> bytes:
    """Put a part of another file into this one, or in the place of its end."""
    start = _place(other, random)
    part = other[start : start + random.choice([20, 500, len(other)])]
    if random.random() < 0.5:
        return data[: _place(data, random)] + part
    return _inserted(data, part, random)


def mutate(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Spoil a file in a few ways."""
    for _ in range(random.choice([1, 1, 1, 1, 2, 4])):
        if random.random() < 0.15:
            data = splice(data, random.choice(others), random)
        else:
            data = random.choice(MUTATIONS)(data, random)
    return data[:LARGEST]


def _place(data: bytes, random: Random) -> int:
    return random.choice([0, len(data), random.randint(0, len(data)), random.randint(0, len(data))])


def _inserted(data: bytes, part: bytes, random: Random) -> bytes:
    start = _place(data, random)
    return data[:start] + part + data[start:]
