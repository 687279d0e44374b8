//! Tags: `tag/tag-<name>` is the snapshot file, with the time of creation if the tag expires.

use bytes::Bytes;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::scalar::civil::civil_from_days;

use super::{check_new_name, exists};
use crate::maintenance::reach::References;
use crate::spec::options::Options;
use crate::spec::snapshot::Snapshot;
use crate::table::{LIMIT_BYTES, Table};

const DAY_US: i64 = 86_400_000_000;

impl Table {
    pub(super) fn create_tag(
        &self,
        name: &str,
        snapshot_id: Option<i64>,
        retained: Option<&str>,
        local_us: i64,
    ) -> Result<()> {
        check_new_name("tag", name)?;
        let taken = || exists("tag", name, "replace or delete it").with("table", self.location());
        if self.find_tag(name)?.is_some() {
            return Err(taken());
        }
        let (snapshot, keeper) = self.snapshot_to_tag(snapshot_id)?;
        let content = self.tag_content(&snapshot, retained, local_us)?;
        self.files().put_if_absent(&self.tag_location(name), content).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => taken(),
            _ => error,
        })?;
        // If the snapshot has expired since then, its files may be deleted although the tag exists. Other tags that are
        // created at the same time do not keep them either.
        let is_kept = match keeper {
            None => self.snapshot_ids()?.contains(&snapshot.id),
            Some(tag) => self.find_tag(&tag)?.is_some(),
        };
        if !is_kept {
            self.files().delete(&self.tag_location(name))?;
            let message = format!("snapshot {} expired while the tag `{name}` was created", snapshot.id);
            return Err(Error::new(ErrorKind::CommitConflict, message).with("table", self.location()));
        }
        Ok(())
    }

    pub(super) fn replace_tag(
        &self,
        name: &str,
        snapshot_id: Option<i64>,
        retained: Option<&str>,
        local_us: i64,
        context: &Context,
    ) -> Result<()> {
        let old = self.tag(name)?;
        let (snapshot, _) = self.snapshot_to_tag(snapshot_id)?;
        let content = self.tag_content(&snapshot, retained, local_us)?;
        let gone = self.files_of_tag(name, &old, context)?;
        self.files().put(&self.tag_location(name), content)?;
        self.delete_unreferenced(gone, context)
    }

    pub(super) fn delete_tag(&self, name: &str, context: &Context) -> Result<()> {
        let gone = self.files_of_tag(name, &self.tag(name)?, context)?;
        self.files().delete(&self.tag_location(name))?;
        self.delete_unreferenced(gone, context)
    }

    pub(super) fn rename_tag(&self, name: &str, new_name: &str) -> Result<()> {
        self.tag(name)?;
        check_new_name("tag", new_name)?;
        let content = self.files().read(&self.tag_location(name), LIMIT_BYTES)?;
        self.files().put_if_absent(&self.tag_location(new_name), content).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists("tag", new_name, "choose another name"),
            _ => error,
        })?;
        self.files().delete(&self.tag_location(name))
    }

    /// Returns the snapshot to tag, and the tag that keeps it if it has expired.
    fn snapshot_to_tag(&self, id: Option<i64>) -> Result<(Snapshot, Option<String>)> {
        let Some(id) = id else {
            let latest = self.latest_snapshot()?.ok_or_else(|| {
                Error::new(ErrorKind::NoSuchSnapshot, "the table has no snapshot").with("table", self.location())
            })?;
            return Ok((latest, None));
        };
        match self.snapshot(id) {
            Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => {
                let tagged = self.tags()?.into_iter().find(|(_, snapshot)| snapshot.id == id);
                tagged.map(|(name, snapshot)| (snapshot, Some(name))).ok_or(error)
            }
            found => Ok((found?, None)),
        }
    }

    /// Returns the content of the file of a tag. As Java does, the time of creation is only written for a tag that
    /// expires.
    fn tag_content(&self, snapshot: &Snapshot, retained: Option<&str>, local_us: i64) -> Result<Bytes> {
        let retained = match retained {
            None => Options::new(self.schema().options.clone()).duration("tag.default-time-retained")?,
            Some(text) => {
                Options::new([("time_retained".to_string(), text.to_string())].into()).duration("time_retained")?
            }
        };
        let text = snapshot.to_json();
        let Some(retained) = retained else { return Ok(text.into()) };
        let members = text.trim_end().trim_end_matches('}').trim_end();
        let (seconds, nanos, created) = (retained.as_secs(), retained.subsec_nanos(), date_time(local_us));
        let retention = format!("\"tagCreateTime\": [{created}],\n  \"tagTimeRetained\": {seconds}.{nanos:09}");
        Ok(format!("{members},\n  {retention}\n}}").into())
    }

    /// Returns the files that a tag keeps; none if its snapshot or another tag also keeps them.
    fn files_of_tag(&self, name: &str, snapshot: &Snapshot, context: &Context) -> Result<References> {
        let mut found = References::new();
        if !self.is_kept(snapshot, Some(name))? {
            self.find_files(snapshot, &mut found, context)?;
        }
        Ok(found)
    }

    /// Returns whether a snapshot exists as such or as a tag other than `except`.
    fn is_kept(&self, snapshot: &Snapshot, except: Option<&str>) -> Result<bool> {
        if self.snapshot_ids()?.contains(&snapshot.id) {
            return Ok(true);
        }
        Ok(self.tags()?.iter().any(|(name, other)| Some(name.as_str()) != except && other.id == snapshot.id))
    }
}

/// Returns the parts of a date and time as Java's `LocalDateTime` is written: seconds and nanoseconds only if needed.
fn date_time(local_us: i64) -> String {
    let (year, month, day) = civil_from_days(local_us.div_euclid(DAY_US));
    let micros = local_us.rem_euclid(DAY_US);
    let (seconds, nanos) = (micros / 1_000_000, micros % 1_000_000 * 1000);
    let mut parts = vec![year, month, day, seconds / 3600, seconds / 60 % 60];
    if seconds % 60 != 0 || nanos != 0 {
        parts.push(seconds % 60);
    }
    if nanos != 0 {
        parts.push(nanos);
    }
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
