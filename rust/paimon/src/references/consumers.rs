//! Sets and deletes the progress of streaming readers (spec: "Consumer").

use bytes::Bytes;
use frazil_core::error::{Error, Result};

use crate::table::{Table, check_name, listed};

impl Table {
    /// Records that a consumer has read all snapshots before `next_snapshot`.
    pub(super) fn set_consumer(&self, name: &str, next_snapshot: i64) -> Result<()> {
        check_name("consumer", name)?;
        if next_snapshot < 1 {
            return Err(Error::invalid(format!("the next snapshot of a consumer is {next_snapshot}, not 1 or more")));
        }
        // The bytes are those of Java.
        let content = format!("{{\n  \"nextSnapshot\" : {next_snapshot}\n}}");
        self.files().put(&self.consumer_location(name), Bytes::from(content))
    }

    /// Deletes a consumer, so that snapshots that it has not read can expire.
    pub(super) fn delete_consumer(&self, name: &str) -> Result<()> {
        check_name("consumer", name)?;
        let known: Vec<_> = self.consumers()?.into_iter().map(|(name, _)| name).collect();
        if known.iter().any(|known| known == name) {
            return self.files().delete(&self.consumer_location(name));
        }
        let missing = Error::invalid(format!("there is no consumer `{name}`")).with("table", self.location());
        Err(missing.hint(listed("consumers", &known)))
    }

    fn consumer_location(&self, name: &str) -> String {
        format!("{}/consumer-{name}", self.folder("consumer"))
    }
}
