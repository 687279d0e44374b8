//! placeholder
use crate::error::{Error,Result};
use arrow_array::RecordBatch;
/// placeholder
pub struct OrcFile(arrow_schema::Schema);
impl OrcFile {
    /// placeholder
    pub fn open(_: bytes::Bytes) -> Result<Self> { Err(Error::unsupported("orc")) }
    /// placeholder
    pub fn schema(&self) -> &arrow_schema::Schema { &self.0 }
    /// placeholder
    pub fn batches(&self, _: &[usize], _: usize) -> Result<std::vec::IntoIter<Result<RecordBatch>>> { Err(Error::unsupported("orc")) }
}
