"""Tables of a recording: rows for Python, and columns for pandas, polars, DuckDB and whatever else reads Arrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, Generic, TypeVar, cast, overload

from perfline._ipc import Field, Stream, streams

Row = TypeVar("Row")


# Not a `collections.abc.Sequence`: polars would take those row by row, before it looks for columns.
class Table(Generic[Row]):
    """Rows of one kind, each a ``dict``, in typed columns.

    It works as a sequence of rows: ``table[0]``, ``table[:10]``, ``for row in table``, ``len(table)``. ``table["cpu_own_us"]`` is
    a column as a list.

    It has ``__arrow_c_stream__``, by which ``polars.DataFrame(table)``, ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)``
    (pandas 3) and others take the columns as they are.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._columns: dict[str, list[Any]] | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns: name, type, unit, and what each means."""
        return self._stream.fields

    def __len__(self) -> int:
        return len(self._stream)

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...

    @overload
    def __getitem__(self, at: str) -> list[Any]: ...

    def __getitem__(self, at: int | slice | str) -> Any:
        columns = self._values()
        if isinstance(at, str):
            return list(columns[at])
        if isinstance(at, slice):
            rows = zip(*(column[at] for column in columns.values()))
            return [dict(zip(columns, row)) for row in rows]
        return {name: column[at] for name, column in columns.items()}

    def __iter__(self) -> Iterator[Row]:
        columns = self._values()
        return (cast("Row", dict(zip(columns, row))) for row in zip(*columns.values()))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Table):
            return self.fields == other.fields and self._values() == other._values()
        return list(self) == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<perfline.Table of {len(self)} rows: {', '.join(it.name for it in self.fields)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._stream.data,)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns by Arrow's PyCapsule interface, without a copy where pyarrow is installed, else through polars.

        Raises ``ImportError`` where neither is.
        """
        # Whoever calls this frees the columns by a function in C, also while an exception is on its way, when no code in Python
        # may run: ctypes cannot make that function (CPython 3.9, 3.11 and 3.13 crash), and the package has no compiled part.
        return _reader(self._stream.data).__arrow_c_stream__(requested_schema)

    def _values(self) -> dict[str, list[Any]]:
        if self._columns is None:
            self._columns = self._stream.columns()
        return self._columns


def _unpickled(data: bytes) -> Table[Any]:
    (stream,) = streams(data)
    return Table(stream)


def _reader(data: bytes) -> Any:
    """What reads a stream of Arrow and hands it on, of the package that is installed."""
    try:
        ipc = importlib.import_module("pyarrow.ipc")
    except ImportError:
        pass
    else:
        return ipc.open_stream(data)
    try:
        polars = importlib.import_module("polars")
    except ImportError:
        raise ImportError(
            "columns for other packages need pyarrow or polars: install one, as in `pip install 'perfline[arrow]'`"
        ) from None
    return polars.read_ipc_stream(data)
