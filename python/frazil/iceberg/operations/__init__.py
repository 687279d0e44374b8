"""The operations on an Iceberg table: each is a value that defines a change and plans it.

| module | operations |
|---|---|
| `writes` | `Append`, `Overwrite`, `OverwritePartitions` |
| `row_change` | `Delete`, `Update` |
| `merge` | `Merge`, `Upsert` |
| `addressed` | `ChangeRows` |
| `rewrite` | `Rewrite` |
| `evolve` | `Evolve` |

`frazil._run` carries them out.
"""
