"""Running many small programs under one Flax version in few processes, which saves most of their time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from tests.environments import Output, execute

# to optimize programs as small as these takes longer than to run them as they are
_SETTINGS = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false"
}
_AT_A_TIME = 300  # what JAX compiles for one program stays in memory until its process ends

_DRIVER = """
import contextlib, io, json, sys, threading, traceback

results = {}


def run(name, text):
    out, code, error = io.StringIO(), 0, ""
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(text, name, "exec"), {"__name__": "__main__"})
        except BaseException:
            code, error = 1, traceback.format_exc()
    results[name] = [code, out.getvalue(), error]


threading.stack_size(64 << 20)
for name, text in json.load(open(sys.argv[1])).items():
    # what one program asks for is not asked for by the next: a mesh that is set holds in a thread alone
    program = threading.Thread(target=run, args=(name, text))
    program.start()
    program.join()
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", False)
json.dump(results, open(sys.argv[2], "w"))
"""


def execute_all(version: str, programs: Mapping[str, str], folder: Path) -> dict[str, Output]:
    """Run programs one after the other under a Flax version.

    Args:
        version: a key of :data:`tests.environments.PINS`.
        programs: texts by name; each gets a namespace of its own, but modules are shared.
        folder: an empty folder for the exchange of texts and results.

    Returns:
        What each program did.
    """
    folder.mkdir(parents=True, exist_ok=True)
    driver, given, results = folder / "driver.py", folder / "programs.json", folder / "results.json"
    driver.write_text(_DRIVER)
    found: dict[str, Output] = {}
    for start in range(0, len(programs), _AT_A_TIME):
        given.write_text(json.dumps(dict(islice(programs.items(), start, start + _AT_A_TIME))))
        results.unlink(missing_ok=True)
        done = execute(version, driver, str(given), str(results), limit=900, settings=_SETTINGS)
        assert results.exists(), done.err
        found |= {name: Output(*result) for name, result in json.loads(results.read_text()).items()}
    return found
