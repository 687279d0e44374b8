//! Maps error kinds to the Python exception classes, which are defined in Python.

use frazil_core::error::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Returns the Python exception for an error: the class of its kind, with message, context and hint.
pub(crate) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    if error.kind() == ErrorKind::Cancelled
        && let Some(signal) = PyErr::take(py)
    {
        return signal;
    }
    // An exception that was raised by Python code called from Rust.
    if let Some(raised) = std::error::Error::source(error).and_then(|source| source.downcast_ref::<PyErr>()) {
        return raised.clone_ref(py);
    }
    raise(py, error).unwrap_or_else(|failure| failure)
}

fn raise(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let module = ERRORS.get_or_try_init(py, || py.import("frazil.errors").map(Bound::unbind))?.bind(py);
    let class = module.getattr(error.kind().name())?;
    let arguments = PyDict::new(py);
    let context = PyDict::new(py);
    for (key, value) in error.context() {
        context.set_item(key, value)?;
    }
    arguments.set_item("context", context)?;
    arguments.set_item("hint", error.hint_text())?;
    Ok(PyErr::from_value(class.call((error.to_string(),), Some(&arguments))?))
}

/// Allows `?` on a core result in a function that returns a Python result.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| to_python(py, &error))
    }
}
