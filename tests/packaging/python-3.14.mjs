// Runs a zipapp in CPython 3.14 for WebAssembly: node FILE PROJECT FOLDER ZIPAPP [WORD ...]
// PROJECT is seen as /project, FOLDER as /work.
import { loadPyodide } from "pyodide";

const [project, folder, ...words] = process.argv.slice(2);
const python = await loadPyodide({ env: { HOME: "/", COLUMNS: "100" } });
python.mountNodeFS("/project", project);
python.mountNodeFS("/work", folder);
python.globals.set("words", python.toPy(words));
try {
  process.exitCode = python.runPython(`
import runpy, sys
assert sys.version_info[:2] == (3, 14)
sys.argv = list(words)
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
    code = 0
except SystemExit as end:
    code = end.code or 0
sys.stdout.flush()
code
`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 99;
}
