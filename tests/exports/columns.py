"""The sums of exported rows, as Arrow and Python's csv module read them."""

import csv
import json
from decimal import Decimal

import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet

METRICS = {
    "cpu": "ns",
    "cuda": "ns",
    "gpu_idle": "ns",
    "sync": "ns",
    "waiting": "ns",
    "alloc": "bytes",
}


def streams(number):
    """The tables of streams that follow one another."""
    with open("tables.arrow", "rb") as file:
        tables = [pyarrow.ipc.open_stream(file).read_all() for _ in range(number)]
        assert not file.read()
    return tables


def main():
    with open("lines.json") as file:
        totals = json.load(file, parse_float=Decimal)["totals"]
    table = pyarrow.parquet.read_table("stacks.parquet")
    with open("stacks.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert table.num_rows == len(rows) > 0
    assert table["stack"].to_pylist() == [it["stack"] for it in rows]
    lines = [int(it["line"]) if it["line"] else None for it in rows]
    assert table["line"].to_pylist() == lines
    for metric, unit in METRICS.items():
        of_lines = totals[f"{metric}_{'us' if unit == 'ns' else unit}"]
        expected = int(of_lines * 1000) if unit == "ns" else of_lines
        of_table = pyarrow.compute.sum(table[f"{metric}_{unit}"]).as_py()
        column = f"{metric}_{'us' if unit == 'ns' else unit}"
        of_rows = sum(Decimal(it[column]) for it in rows)
        assert of_table == expected, (metric, of_table, expected)
        assert of_rows == of_lines, (metric, of_rows, of_lines)
    tables = streams(8)
    for table in tables:
        table.validate(full=True)
        name = table.schema.metadata[b"perfline.table"].decode()
        rows = pyarrow.parquet.read_table(f"{name}.parquet").to_pylist()
        assert table.to_pylist() == rows, name
    lines = next(it for it in tables if "stale" in it.column_names)
    own = sum(round(1000 * it) for it in lines["cuda_own_us"].to_pylist())
    assert 0 < own <= totals["cuda_us"] * 1000, own
    print(f"arrow, parquet: {len(tables)} tables are the same")
    print(f"parquet, csv: the sums of {len(METRICS)} metrics are those of the lines")


main()
