"""What can be done to an Iceberg table: each operation is a value that says what to do, and plans how.

| module | operations |
|---|---|
| `writes` | `Append`, `Overwrite`, `OverwritePartitions` |
| `row_change` | `Delete`, `Update` |
| `merge` | `Merge`, `Upsert` |
| `rewrite` | `Rewrite` |
| `evolve` | `Evolve` |

`frazil._run` carries them out.
"""
