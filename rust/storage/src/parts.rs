//! Uploads files to a store in parts, several of them concurrently.

use std::fmt;

use bytes::Bytes;
use frazil_core::error::{Error, Result};
use frazil_core::storage::location::redacted;
use frazil_core::storage::{PART_BYTES, Upload};
use object_store::{MultipartUpload, WriteMultipart};

use crate::failure;
use crate::runtime::block_on;

/// The maximum number of parts of one file that are uploaded concurrently. It is small because many files may be open.
const CONCURRENT_PARTS: usize = 2;

/// A file whose parts are being uploaded.
pub(crate) struct Parts {
    location: String,
    /// The upload; None after it has ended.
    sent: Option<WriteMultipart>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parts({})", redacted(&self.location))
    }
}

impl Parts {
    pub(crate) fn new(upload: Box<dyn MultipartUpload>, location: &str) -> Self {
        Self { location: location.to_string(), sent: Some(WriteMultipart::new_with_chunk_size(upload, PART_BYTES)) }
    }

    /// Waits until at most `most` parts are being uploaded, and then sends `next` if it is given.
    fn send(&mut self, most: usize, next: Option<Bytes>) -> Result<()> {
        let mut sent = self.take()?;
        let (sent, ready) = block_on(async move {
            let ready = sent.wait_for_capacity(most).await;
            if let (Ok(()), Some(content)) = (&ready, next) {
                // Content with exactly the length of a part is sent without copying.
                sent.put(content);
            }
            (sent, ready)
        })?;
        self.sent = Some(sent);
        ready.map_err(|e| failure::map(&e, &self.location))
    }

    fn take(&mut self) -> Result<WriteMultipart> {
        self.sent.take().ok_or_else(|| Error::internal("cannot add parts to a completed file"))
    }
}

impl Upload for Parts {
    fn part(&mut self, content: Bytes) -> Result<()> {
        self.send(CONCURRENT_PARTS, Some(content))
    }

    fn finish(&mut self) -> Result<()> {
        // If sending fails, the parts can still be discarded.
        self.send(0, None)?;
        let sent = self.take()?;
        block_on(sent.finish())?.map(drop).map_err(|e| failure::map(&e, &self.location))
    }

    fn abort(&mut self) -> Result<()> {
        let Some(sent) = self.sent.take() else { return Ok(()) };
        block_on(sent.abort())?.map_err(|e| failure::map(&e, &self.location))
    }
}
