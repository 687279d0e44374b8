"""Install Paimon (Java) and JPype into a folder: `install.py FOLDER REQUIREMENTS`.

Ivy, which PySpark includes, downloads the jars of Paimon and of the SQLite driver from the public Java registry; the
other jars are those of PySpark.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

DOWNLOADED = (("org.apache.paimon", "paimon-bundle", "1.4.2"), ("org.xerial", "sqlite-jdbc", "3.54.1.0"))
OF_PYSPARK = ("hadoop-client-api", "hadoop-client-runtime", "jcl-over-slf4j", "slf4j-api", "snappy-java")


def main(folder: Path, requirements: Path) -> None:
    """Install both, unless they are already installed."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade")
    subprocess.run([*pip, "--target", folder / "python", "--requirement", requirements], check=True)
    spark = find_spec("pyspark")
    assert spark
    assert spark.origin
    ours, theirs = folder / "jars", Path(spark.origin).parent / "jars"
    ours.mkdir(parents=True, exist_ok=True)
    ivy = ("java", "-cp", str(next(theirs.glob("ivy-*.jar"))), "org.apache.ivy.Main", "-warn", "-notransitive")
    for module in DOWNLOADED:
        wanted = ("-dependency", *module, "-types", "jar", "-retrieve", f"{ours}/[artifact]-[revision].[ext]")
        subprocess.run([*ivy, *wanted], check=True, stdout=subprocess.DEVNULL)
    for name in OF_PYSPARK:
        for jar in theirs.glob(f"{name}-*.jar"):
            link = ours / jar.name
            link.unlink(missing_ok=True)
            link.symlink_to(jar)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]))
