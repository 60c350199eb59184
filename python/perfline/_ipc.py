"""Reads streams of Arrow's IPC format as the program writes them: https://arrow.apache.org/docs/format/Columnar.html.

Python alone is enough, so that reading a recording needs no other package. What the program does not write is refused:
compressed buffers, dictionaries, and types other than those of ``Field.type``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from collections.abc import Iterator
from typing import Any

CONTINUATION = 0xFFFFFFFF

# Variants of the union of messages, and of that of types.
SCHEMA, RECORD_BATCH = 1, 3
INT, FLOAT, TEXT, FLAG, LIST, STRUCT = 2, 3, 5, 6, 12, 13


class FormatError(ValueError):
    """The bytes are no stream that the program writes."""


@dataclasses.dataclass(frozen=True)
class Field:
    """A column."""

    name: str

    type: str
    """``text``, ``int64``, ``float64``, ``bool``, ``list`` or ``struct``."""

    nullable: bool
    """Whether rows may have ``None`` in it."""

    unit: str
    """What numbers count: ``us`` (microseconds), ``bytes``, ``share`` (of 1), ``flop``, ``flop/s``; empty for the number of
    things, and for what is no number."""

    description: str
    """What it means, in one line."""

    children: tuple[Field, ...] = ()
    """What a list holds, and the columns of a struct."""


@dataclasses.dataclass(frozen=True)
class Stream:
    """A table: its columns, what else it says, and where its rows are."""

    fields: tuple[Field, ...]
    metadata: dict[str, str]
    data: bytes
    """All of the stream, with nothing before and behind it."""
    batches: tuple[tuple[int, int], ...]
    """Of each batch of rows: where its description is in ``data``, and where its buffers begin."""

    def __len__(self) -> int:
        return sum(_record_batch(self.data, batch).integer(0, "q") for batch, _ in self.batches)

    def columns(self) -> dict[str, list[Any]]:
        """The values of each column by name.

        Raises ``FormatError`` where the buffers do not hold them.
        """
        columns: dict[str, list[Any]] = {field.name: [] for field in self.fields}
        with _refusing_damage():
            for batch, body in self.batches:
                buffers = _Buffers(self.data, _record_batch(self.data, batch), body)
                for field in self.fields:
                    columns[field.name] += buffers.column(field)
        return columns


def streams(data: bytes) -> list[Stream]:
    """Reads streams that follow one another.

    Raises ``FormatError`` where that is not what ``data`` holds.
    """
    found, start = [], 0
    with _refusing_damage():
        while start < len(data):
            stream, start = _stream(data, start)
            found.append(stream)
    return found


@contextlib.contextmanager
def _refusing_damage() -> Iterator[None]:
    try:
        yield
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise FormatError(f"it ends too early, or is damaged: {error}") from error


def _stream(data: bytes, start: int) -> tuple[Stream, int]:
    """The stream that begins at ``start``, and where it ends."""
    fields: tuple[Field, ...] = ()
    metadata: dict[str, str] = {}
    batches = []
    position, is_first = start, True
    while True:
        continuation, size = struct.unpack_from("<Ii", data, position)
        if continuation != CONTINUATION:
            raise FormatError(f"no message begins at byte {position}")
        begin = position + 8
        if size == 0:
            break
        message = _root(data, begin)
        kind, header, body = message.integer(1, "B"), message.table(2), begin + size
        if (kind == SCHEMA) != is_first or header is None:
            raise FormatError(f"message {kind} at byte {position} is not expected there")
        if kind == SCHEMA:
            fields = tuple(_field(it) for it in header.tables(1))
            metadata = _metadata(header, 2)
        elif kind != RECORD_BATCH or header.position_of(3):
            raise FormatError(f"message {kind} at byte {position} is not one that the program writes")
        else:
            batches.append((begin - start, body - start))
        is_first = False
        position = body + message.integer(3, "q")
        if position < begin:
            raise FormatError(f"the message at byte {begin} has a size below 0")
    if is_first:
        raise FormatError(f"the stream at byte {start} has no columns")
    return Stream(fields, metadata, data[start:begin], tuple(batches)), begin


@dataclasses.dataclass(frozen=True)
class _FlatTable:
    """A table of a flatbuffer: values by their number, each of which may be left out."""

    data: bytes
    position: int

    def position_of(self, number: int) -> int:
        """Where a value is; 0 where it is left out."""
        (back,) = struct.unpack_from("<i", self.data, self.position)
        names = self.position - back
        (size,) = struct.unpack_from("<H", self.data, names)
        if size < 6 + 2 * number:
            return 0
        (offset,) = struct.unpack_from("<H", self.data, names + 4 + 2 * number)
        return self.position + offset if offset else 0

    def integer(self, number: int, kind: str) -> int:
        position = self.position_of(number)
        return struct.unpack_from("<" + kind, self.data, position)[0] if position else 0

    def target(self, number: int) -> int:
        """What a reference points at; 0 where it is left out."""
        position = self.position_of(number)
        return position + struct.unpack_from("<I", self.data, position)[0] if position else 0

    def table(self, number: int) -> _FlatTable | None:
        target = self.target(number)
        return _FlatTable(self.data, target) if target else None

    def tables(self, number: int) -> list[_FlatTable]:
        target = self.target(number)
        if not target:
            return []
        (count,) = struct.unpack_from("<I", self.data, target)
        places = range(target + 4, target + 4 + 4 * count, 4)
        return [_FlatTable(self.data, it + struct.unpack_from("<I", self.data, it)[0]) for it in places]

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """A vector of structs of two integers of 64 bits."""
        target = self.target(number)
        if not target:
            return []
        (count,) = struct.unpack_from("<I", self.data, target)
        end = target + 4 + 16 * count
        if len(self.data) < end:
            raise FormatError(f"it ends too early: {count} pairs at byte {target}")
        return list(struct.iter_unpack("<qq", self.data[target + 4 : end]))

    def text(self, number: int) -> str:
        target = self.target(number)
        if not target:
            return ""
        (size,) = struct.unpack_from("<I", self.data, target)
        return self.data[target + 4 : target + 4 + size].decode("utf-8")


def _root(data: bytes, begin: int) -> _FlatTable:
    return _FlatTable(data, begin + struct.unpack_from("<I", data, begin)[0])


def _record_batch(data: bytes, begin: int) -> _FlatTable:
    header = _root(data, begin).table(2)
    if header is None:
        raise FormatError(f"the message at byte {begin} is empty")
    return header


def _metadata(table: _FlatTable, number: int) -> dict[str, str]:
    return {it.text(0): it.text(1) for it in table.tables(number)}


def _field(table: _FlatTable) -> Field:
    kind, details = table.integer(2, "B"), table.table(3)
    name = table.text(0)
    # The width of integers in bits, the precision of floats: 2 are 64 bits.
    width = {INT: ("i", 64), FLOAT: ("h", 2)}.get(kind)
    names = {INT: "int64", FLOAT: "float64", TEXT: "text", FLAG: "bool", LIST: "list", STRUCT: "struct"}
    is_known = kind in names and not table.position_of(4)
    if not is_known or (width and (details is None or details.integer(0, width[0]) != width[1])):
        raise FormatError(f"column {name!r} has type {kind}, which the program does not write")
    about = _metadata(table, 6)
    return Field(
        name=name,
        type=names[kind],
        nullable=bool(table.integer(1, "B")),
        unit=about.get("unit", ""),
        description=about.get("description", ""),
        children=tuple(_field(it) for it in table.tables(5)),
    )


class _Buffers:
    """The buffers of a batch, which columns take in their order."""

    def __init__(self, data: bytes, batch: _FlatTable, body: int) -> None:
        self._data = memoryview(data)
        self._body = body
        self._nodes = iter(batch.pairs(1))
        self._buffers = iter(batch.pairs(2))

    def column(self, field: Field) -> list[Any]:
        """The values of the next column, ``None`` where it has none."""
        count, nulls = next(self._nodes, (0, 0))
        validity = self._buffer()
        values: list[Any]
        if field.type == "text":
            values = self._texts(count)
        elif field.type == "list":
            offsets = self._offsets(count)
            items = self.column(field.children[0])
            values = [items[a:b] for a, b in zip(offsets, offsets[1:])]
        elif field.type == "struct":
            names = [it.name for it in field.children]
            columns = [self.column(it) for it in field.children]
            values = [dict(zip(names, row)) for row in zip(*columns)]
        elif field.type == "bool":
            values = _bits(self._buffer(), count)
        else:
            values = self._numbers("q" if field.type == "int64" else "d", count)
        if len(values) != count:
            raise FormatError(f"column {field.name!r} has {len(values)} values in a batch of {count}")
        if nulls:
            values = [value if is_there else None for value, is_there in zip(values, _bits(validity, count))]
        return values

    def _buffer(self) -> memoryview:
        offset, size = next(self._buffers, (0, 0))
        return self._data[self._body + offset : self._body + offset + size]

    def _numbers(self, kind: str, count: int) -> list[Any]:
        return list(struct.unpack_from(f"<{count}{kind}", self._buffer()))

    def _offsets(self, count: int) -> list[int]:
        """Where each value begins, and where the last one ends; a column without values may have no buffer for that."""
        buffer = self._buffer()
        return list(struct.unpack_from(f"<{count + 1}i", buffer)) if count else [0]

    def _texts(self, count: int) -> list[str]:
        offsets, texts = self._offsets(count), self._buffer()
        return [str(texts[a:b], "utf-8") for a, b in zip(offsets, offsets[1:])]


def _bits(buffer: memoryview, count: int) -> list[bool]:
    """The first bits of a buffer, the lowest of each byte first."""
    if len(buffer) * 8 < count:
        raise FormatError(f"{len(buffer)} bytes hold no {count} bits")
    digits = f"{int.from_bytes(buffer, 'little'):0{count}b}"
    return [it == "1" for it in digits[: -count - 1 : -1]]
