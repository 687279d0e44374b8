"""A Spark cluster with two hosts, and jobs that run on it in separate processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import frazil
from support.spark_settings import JVM_OPTIONS, SETTINGS, use_this_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parents[1]


def run(script: Path, *arguments: str) -> Any:
    """Run a script whose executors find the packages of this process; return the JSON of its last line."""
    packages = [str(Path(frazil.__file__).parents[1]), str(TESTS), str(script.parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, packages)),
        # The driver is configured only by these options.
        "PYSPARK_SUBMIT_ARGS": f"--driver-memory 1g --driver-java-options '{JVM_OPTIONS}' pyspark-shell",
    }
    use_this_python(environment)
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(script), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout.splitlines()[-1])


def two_hosts(folder: str, **settings: str) -> SparkSession:
    """Start a session with an executor of one core on each of two hosts.

    This is `local-cluster[2,1,1024]`, except that its workers would share one host: Spark runs a speculative copy on
    another host.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    jvm = SparkContext._jvm
    deploy = jvm.org.apache.spark.deploy
    conf = jvm.org.apache.spark.SparkConf().set("spark.master.ui.enabled", "false")
    master = deploy.master.Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, conf)
    url = f"spark://127.0.0.1:{master._1().address().port()}"
    urls = SparkContext._gateway.new_array(jvm.String, 1)
    urls[0] = url
    nothing = getattr(jvm.scala, "None$").__getattr__("MODULE$")
    for number, host in enumerate(("localhost", "127.0.0.1")):
        some = jvm.scala.Some(number)
        deploy.worker.Worker.startRpcEnvAndEndpoint(host, 0, 0, 1, 1024, urls, folder, some, conf, nothing)
    named = {name.replace("__", "."): value for name, value in settings.items()}
    cluster = {
        "spark.cores.max": "2",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": JVM_OPTIONS,
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "100s",
        "spark.locality.wait": "0",
    }
    session = SparkSession.builder.master(url).config(map=SETTINGS | cluster | named).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
