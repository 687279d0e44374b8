//! Marks partitions as done: `_SUCCESS` in the folder of a partition tells other jobs that its rows are complete (Java's
//! `SuccessFileMarkDoneAction`).

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef};
use bytes::Bytes;
use frazil_core::clock::now_ms;
use frazil_core::error::{Error, ErrorKind, Result};

use crate::binary_row;
use crate::commit::partition_values;
use crate::spec::json::{self, Object, shown};
use crate::spec::options::Options;
use crate::spec::partition_path::Naming;
use crate::table::{LIMIT_BYTES, Table, partition_folder};

const SUCCESS_FILE: &str = "success-file";

impl Table {
    /// Writes the `_SUCCESS` file of each partition, which has a value for every partition column. A file that exists
    /// keeps its time of creation.
    ///
    /// # Errors
    /// `Unsupported` for another `partition.mark-done-action` than `success-file`; `InvalidArgument` for a table without
    /// partitions, a column that is missing or not a partition key, or a value of another type. No file is written then.
    pub fn mark_partitions_done(&self, partitions: &[BTreeMap<String, Option<String>>]) -> Result<()> {
        let options = Options::new(self.schema().options.clone());
        let actions = options.text("partition.mark-done-action").unwrap_or(SUCCESS_FILE);
        if let Some(other) = actions.split(',').map(str::trim).find(|action| *action != SUCCESS_FILE) {
            let message = format!("the option `partition.mark-done-action` = `{}` is not supported", shown(other));
            return Err(Error::unsupported(message).hint("only `success-file` is supported"));
        }
        let folders = partitions.iter().map(|spec| self.folder_of(spec, &options)).collect::<Result<Vec<_>>>()?;
        folders.iter().try_for_each(|folder| self.mark_done(folder))
    }

    fn folder_of(&self, spec: &BTreeMap<String, Option<String>>, options: &Options) -> Result<String> {
        let schema = self.schema();
        if schema.partition_keys.is_empty() {
            return Err(Error::invalid("the table has no partitions").with("table", self.location()));
        }
        if let Some(missing) = schema.partition_keys.iter().find(|key| !spec.contains_key(*key)) {
            let message = format!("the partition has no value for the column `{}`", shown(missing));
            return Err(Error::invalid(message).with("table", self.location()));
        }
        let fields = schema.partition_keys.iter().filter_map(|key| schema.field(key));
        let types: Vec<_> = fields.map(|field| field.data_type.clone()).collect();
        let mut values = partition_values(schema, &types, spec)?;
        values.sort_by_key(|(place, _)| *place);
        let columns: Vec<ArrayRef> = values.into_iter().map(|(_, value)| value).collect();
        let rows = binary_row::with_arity(&binary_row::encode(&columns, &types)?, types.len())?;
        let partition = if rows.is_empty() { &[][..] } else { rows.value(0) };
        partition_folder(schema, partition, &Naming::from_options(options)?)
    }

    fn mark_done(&self, folder: &str) -> Result<()> {
        let path = format!("{}/{}/_SUCCESS", self.location(), folder.trim_matches('/'));
        let now = now_ms();
        let created = match self.files().read(&path, LIMIT_BYTES) {
            Err(error) if error.kind() == ErrorKind::MissingFile => now,
            found => {
                let content = json::parse(&found?, "success file");
                let created =
                    content.and_then(|value| Object::of(&value, "success file")?.required_long("creationTime"));
                created.map_err(|error| error.corrupt_as(ErrorKind::CorruptMetadata).with("file", &path))?
            }
        };
        // The bytes are those of Java.
        let content = format!("{{\n  \"creationTime\" : {created},\n  \"modificationTime\" : {now}\n}}");
        self.files().put(&path, Bytes::from(content))
    }
}
