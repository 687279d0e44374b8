//! Writing Avro data files.

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

/// Writes the rows of one Avro data file as its bytes.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct AvroWriter(Mutex<Option<Writer>>);

impl AvroWriter {
    /// Begin a file of this schema with these entries in its header.
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
    /// A file of the columns of a write. Codecs are named as Avro names them.
    #[new]
    fn new(py: Python<'_>, rows: &RowWriter, codec: &str, level: Option<i32>) -> PyResult<Self> {
        let schema = rows.with(py, |writer| Ok(writer.schema().clone()))?;
        detached(py, || {
            let json = schema.to_json();
            let text = avro_schema("table", &schema.fields)?;
            Self::begin(&text, &[("iceberg.schema", json.as_str())], codec, level)
        })
    }

    /// Writes rows; gives the bytes that are complete.
    fn write<'py>(&self, py: Python<'py>, batch: ArrowBatch) -> PyResult<Bound<'py, PyBytes>> {
        let ArrowBatch(batch) = batch;
        let bytes = detached(py, || {
            let mut writer = self.0.lock().map_err(|_| Error::internal("a write failed before"))?;
            let writer = writer.as_mut().ok_or_else(ended)?;
            writer.write(&batch)?;
            Ok(writer.take())
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The rest of the bytes.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || {
            let mut writer = self.0.lock().map_err(|_| Error::internal("a write failed before"))?;
            writer.take().ok_or_else(ended)?.finish()
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

fn ended() -> Error {
    Error::internal("the file has ended")
}
