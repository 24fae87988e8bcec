//! The thin binding between the engine and the Python package: configuration in, statistics out, both as JSON text.
//!
//! A request comes in as text. `drive::drive` passes it to the engine on a separate thread, while the calling thread,
//! detached from the interpreter, checks for Ctrl-C and reports progress. The engine's answer is returned as text. The
//! meaning of the text is defined by the engine and by the Python package.

mod drive;
mod errors;
mod recording;

use counterpoint_engine::api;
use pyo3::prelude::*;

/// The engine's version and all designs, workloads and machines, as JSON.
#[pyfunction]
fn describe() -> String {
    api::describe()
}

/// The JSON Schema of each kind of request, by the function that takes it, as JSON.
#[pyfunction]
fn schemas() -> String {
    api::schemas()
}

/// The JSON Schema of each kind of report, by its type in Python, as JSON.
#[pyfunction]
fn report_schemas() -> String {
    api::report_schemas()
}

/// The JSON Schema of each kind of file that users write, as JSON.
#[pyfunction]
fn file_schemas() -> String {
    api::file_schemas()
}

/// The entry of `describe` for one design, built-in or a file, with its parts in both readings, as JSON.
#[pyfunction]
fn describe_design(design: &str) -> PyResult<String> {
    api::describe_design(design).map_err(|error| errors::InputError::new_err(error.to_string()))
}

/// The parts of a design with `key=value` for some of them, without those that have no effect, as JSON.
#[pyfunction]
fn effective_parts(design: &str, variant: &str, stated: Vec<String>) -> PyResult<String> {
    let stated: Vec<&str> = stated.iter().map(String::as_str).collect();
    let parts = api::effective_parts(design, variant, &stated);
    parts.map_err(|error| errors::InputError::new_err(error.to_string()))
}

/// Checks `path.to.key=value`, of a machine or with `design.` before it of a design, by itself.
#[pyfunction]
fn check_set(set: &str) -> PyResult<()> {
    api::check_set(set).map_err(|error| errors::InputError::new_err(error.to_string()))
}

/// The file of a built-in design; None for any other name.
#[pyfunction]
fn design_file(name: &str) -> Option<&'static str> {
    api::design_file(name)
}

/// The number of processors that this process may use, which is the most simulations that run at a time.
#[pyfunction]
fn processors() -> usize {
    api::processors()
}

/// Validates one request and returns the complete run that it describes, including its machine, as JSON.
#[pyfunction]
fn resolve(py: Python<'_>, request: &str) -> PyResult<String> {
    py.detach(|| api::resolve(request)).map_err(|error| errors::InputError::new_err(error.to_string()))
}

/// Runs every request of `{"runs": [...]}` on `workers` threads (0: one per processor).
#[pyfunction]
#[pyo3(signature = (request, workers=0, progress=None))]
fn run_many(py: Python<'_>, request: &str, workers: usize, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::run_many(request, workers, report, cancel))
}

/// Keeps populated memory between calls: the newest `bases_max` bases of at most `bytes_max` bytes in total.
#[pyclass(frozen, module = "counterpoint._engine")]
struct Session(api::Session);

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (bases_max=4, bytes_max=2147483648))]
    fn new(bases_max: usize, bytes_max: u64) -> Self {
        Self(api::Session::new(bases_max, bytes_max))
    }

    /// Runs every request of `{"runs": [...]}` like the function `run_many`, on memory that the session keeps.
    #[pyo3(signature = (request, workers=0, progress=None))]
    fn run_many(&self, py: Python<'_>, request: &str, workers: usize, progress: Option<Py<PyAny>>) -> PyResult<String> {
        drive::drive(py, progress, |report, cancel| api::run_many_in(&self.0, request, workers, report, cancel))
    }

    /// How often memory was populated because no kept base was suitable.
    #[getter]
    fn populations(&self) -> u64 {
        self.0.populations()
    }
}

/// Replays traces for every request of `{"runs": [...]}`; each `workload` is the path of a trace.
#[pyfunction]
#[pyo3(signature = (request, workers=0, progress=None))]
fn replay(py: Python<'_>, request: &str, workers: usize, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::replay(request, workers, report, cancel))
}

/// Crashes one run at every requested point, recovers, and returns the auditors' verdict.
#[pyfunction]
#[pyo3(signature = (request, progress=None))]
fn crash(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::crash(request, report, cancel))
}

/// Judges every small program, and returns whether all of them hold.
#[pyfunction]
#[pyo3(signature = (request, progress=None))]
fn prove(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::prove(request, report, cancel))
}

/// Runs every small program on two designs, and returns the smallest on which they differ.
#[pyfunction]
#[pyo3(signature = (request, progress=None))]
fn distinguish(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::distinguish(request, report, cancel))
}

/// Checks a recorded program without its recovery.
#[pyfunction]
#[pyo3(signature = (request, progress=None))]
fn check(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::check(request, report, cancel))
}

/// Returns what the recovery of a design costs.
#[pyfunction]
#[pyo3(signature = (request, progress=None))]
fn recovery(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::recovery(request, report, cancel))
}

/// Returns the annotations of a recorded program by source line, as JSON.
#[pyfunction]
#[pyo3(signature = (request, progress=None))]
fn annotations(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::annotations(request, report, cancel))
}

/// Returns the picture of a crash: a window of events and what a power failure after each would leave.
#[pyfunction]
#[pyo3(signature = (request, progress=None))]
fn scene(py: Python<'_>, request: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    drive::drive(py, progress, |report, cancel| api::scene(request, report, cancel))
}

/// The module `counterpoint._engine`.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::quiet_panics();
    module.add_function(wrap_pyfunction!(describe, module)?)?;
    module.add_function(wrap_pyfunction!(schemas, module)?)?;
    module.add_function(wrap_pyfunction!(report_schemas, module)?)?;
    module.add_function(wrap_pyfunction!(file_schemas, module)?)?;
    module.add_function(wrap_pyfunction!(describe_design, module)?)?;
    module.add_function(wrap_pyfunction!(effective_parts, module)?)?;
    module.add_function(wrap_pyfunction!(check_set, module)?)?;
    module.add_function(wrap_pyfunction!(design_file, module)?)?;
    module.add_function(wrap_pyfunction!(processors, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(crash, module)?)?;
    module.add_function(wrap_pyfunction!(prove, module)?)?;
    module.add_function(wrap_pyfunction!(distinguish, module)?)?;
    module.add_function(wrap_pyfunction!(scene, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(recovery, module)?)?;
    module.add_function(wrap_pyfunction!(annotations, module)?)?;
    module.add_function(wrap_pyfunction!(recording::trace_kind, module)?)?;
    module.add_function(wrap_pyfunction!(recording::write_trace, module)?)?;
    module.add_class::<Session>()?;
    module.add("InputError", module.py().get_type::<errors::InputError>())?;
    module.add("EngineError", module.py().get_type::<errors::EngineError>())?;
    module.add("Interrupted", module.py().get_type::<errors::Interrupted>())?;
    Ok(())
}
