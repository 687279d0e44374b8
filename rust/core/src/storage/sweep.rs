//! Deletes files that an operation left behind.

use super::files::Files;

/// The maximum depth of folders below the data folder: four levels of hashes, and one level for each partition field.
const DEPTH_LIMIT: usize = 64;

/// Deletes the files below `folder` whose names contain `operation`, except kept ones, and returns their number. Files
/// that cannot be listed or deleted are left as orphan files, which is not an error.
pub fn sweep(files: &Files, folder: &str, operation: &str, is_kept: impl Fn(&str) -> bool) -> usize {
    let mut pending = vec![(folder.to_string(), 0)];
    let mut deleted = 0;
    while let Some((folder, depth)) = pending.pop() {
        for object in files.list_named(&folder, &|name| name.contains(operation)).unwrap_or_default() {
            let name = object.location.rsplit('/').next().unwrap_or_default();
            // This is the recorded location, which may differ from the actual one.
            let path = format!("{folder}/{name}");
            if !is_kept(&path) && files.delete(&path).is_ok() {
                deleted += 1;
            }
        }
        if depth < DEPTH_LIMIT {
            let folders = files.folders(&folder).unwrap_or_default();
            pending.extend(folders.into_iter().map(|name| (format!("{folder}/{name}"), depth + 1)));
        }
    }
    deleted
}
