//! Writes Avro data files.

use std::sync::Mutex;

use frazil_core::avro::{Codec, Writer};
use frazil_core::error::Error;
use frazil_core::ids;
use frazil_iceberg::spec::avro_schema::avro_schema;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::ArrowBatch;
use crate::interrupt::detached;
use crate::write::RowWriter;

/// A writer that converts the rows of one Avro data file to bytes.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct AvroWriter(Mutex<Option<Writer>>);

impl AvroWriter {
    /// Begins a file with this schema and these entries in its header.
    pub(crate) fn begin(
        schema: &str,
        metadata: &[(&str, &str)],
        codec: &str,
        level: Option<i32>,
    ) -> Result<Self, Error> {
        let writer = Writer::new(schema, metadata, Codec::parse(codec.as_bytes())?, ids::random()?)?;
        let writer = match level {
            Some(level) => writer.with_level(level)?,
            None => writer,
        };
        Ok(Self(Mutex::new(Some(writer))))
    }
}

#[pymethods]
impl AvroWriter {
    /// Creates a file with the columns of a write. Codecs have Avro's names.
    #[new]
    fn new(py: Python<'_>, rows: &RowWriter, codec: &str, level: Option<i32>) -> PyResult<Self> {
        let schema = rows.with(py, |writer| Ok(writer.schema().clone()))?;
        detached(py, || {
            let json = schema.to_json();
            let text = avro_schema("table", &schema.fields)?;
            Self::begin(&text, &[("iceberg.schema", json.as_str())], codec, level)
        })
    }

    /// Writes rows and returns the completed bytes.
    fn write<'py>(&self, py: Python<'py>, batch: ArrowBatch) -> PyResult<Bound<'py, PyBytes>> {
        let ArrowBatch(batch) = batch;
        let bytes = detached(py, || {
            let mut writer = self.0.lock().map_err(|_| Error::internal("an earlier write failed"))?;
            let writer = writer.as_mut().ok_or_else(ended)?;
            writer.write(&batch)?;
            Ok(writer.take())
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the remaining bytes.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || {
            let mut writer = self.0.lock().map_err(|_| Error::internal("an earlier write failed"))?;
            writer.take().ok_or_else(ended)?.finish()
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

fn ended() -> Error {
    Error::internal("the file is already finished")
}
