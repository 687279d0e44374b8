//! Compaction: the files of a bucket become fewer (documentation: "Compaction").
//!
//! ```text
//! plan    which files of which bucket are rewritten
//! task    reads them, merged, and writes the files that replace them; a commit makes a COMPACT snapshot
//! ```

pub mod plan;
pub mod task;
