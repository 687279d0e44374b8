//! Assigns keys to the dynamic buckets of a partition (documentation: "Dynamic Bucket", Java's `PartitionIndex`).
//!
//! A key stays in its bucket. A new key goes to the first bucket that is not full, or to a new bucket if all are full. If
//! there may be no more buckets, it goes to any bucket. Keys are identified by their 32-bit hashes.

use std::collections::{BTreeMap, HashMap};

use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::options::Options;

/// The number of buckets that a partition can have. Java numbers them with 16 bits.
const MOST_BUCKETS: u16 = 32_767;

/// The default number of keys of a full bucket (`dynamic-bucket.target-row-num`).
const TARGET_KEYS: i64 = 2_000_000;

/// The limits of dynamic buckets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BucketLimits {
    /// The number of keys of a full bucket.
    target_keys: u64,
    /// The maximum number of buckets, if there is one.
    max_buckets: Option<u16>,
}

/// The numbers of keys of the buckets of one partition.
#[derive(Debug)]
pub(crate) struct BucketSizes {
    limits: BucketLimits,
    /// The number of keys of each bucket.
    keys: BTreeMap<u16, u64>,
    /// The numbers of the buckets, in the order in which they were added.
    numbers: Vec<u16>,
    /// The first bucket that may have room for another key.
    first_open: u16,
    /// The first number that may be unused.
    first_unused: u16,
}

/// The buckets of the keys of one partition.
#[derive(Debug)]
pub(crate) struct KeyBuckets {
    sizes: BucketSizes,
    /// The bucket of each hash.
    by_hash: HashMap<i32, u16>,
    /// The hashes that were added to each bucket.
    added: BTreeMap<u16, Vec<i32>>,
}

impl BucketLimits {
    /// Reads the options `dynamic-bucket.target-row-num` and `dynamic-bucket.max-buckets`.
    ///
    /// # Errors
    /// `InvalidArgument` for numbers that leave no bucket for a key.
    pub(crate) fn from_options(options: &Options) -> Result<Self> {
        let refused = |name: &str, number: i64, expected: &str| {
            Err(Error::invalid(format!("the option `{name}` is {number}, but must be {expected}")))
        };
        let name = "dynamic-bucket.target-row-num";
        let target = options.integer(name)?.unwrap_or(TARGET_KEYS);
        let Some(target_keys) = u64::try_from(target).ok().filter(|keys| *keys > 0) else {
            return refused(name, target, "at least 1");
        };
        let name = "dynamic-bucket.max-buckets";
        let max_buckets = match options.integer(name)?.unwrap_or(-1) {
            -1 => None,
            number => match u16::try_from(number) {
                Ok(buckets @ 1..=MOST_BUCKETS) => Some(buckets),
                _ => return refused(name, number, &format!("-1 (no limit), or from 1 to {MOST_BUCKETS}")),
            },
        };
        Ok(Self { target_keys, max_buckets })
    }
}

impl BucketSizes {
    pub(crate) fn new(limits: BucketLimits) -> Self {
        Self { limits, keys: BTreeMap::new(), numbers: Vec::new(), first_open: 0, first_unused: 0 }
    }

    /// Counts keys of a bucket.
    ///
    /// # Errors
    /// `CorruptData` for a bucket number that Java cannot assign.
    pub(crate) fn add(&mut self, bucket: i32, count: u64) -> Result<u16> {
        let bucket = u16::try_from(bucket).ok().filter(|bucket| *bucket < MOST_BUCKETS);
        let bucket = bucket.ok_or_else(|| Error::corrupt("a dynamic bucket has an invalid number"))?;
        self.count(bucket, count);
        Ok(bucket)
    }

    /// Adds a key and returns its bucket. The hash of the key chooses among buckets if all are full and there may be no
    /// others.
    ///
    /// # Errors
    /// `LimitExceeded` if the partition cannot have another bucket.
    pub(crate) fn add_key(&mut self, hash: i32) -> Result<u16> {
        let bucket = self.bucket_of_new(hash)?;
        self.count(bucket, 1);
        Ok(bucket)
    }

    /// Removes a key from a bucket.
    pub(crate) fn remove_key(&mut self, bucket: u16) {
        if let Some(keys) = self.keys.get_mut(&bucket) {
            *keys = keys.saturating_sub(1);
            self.first_open = self.first_open.min(bucket);
        }
    }

    fn bucket_of_new(&mut self, hash: i32) -> Result<u16> {
        let target = self.limits.target_keys;
        if let Some((bucket, _)) = self.keys.range(self.first_open..).find(|(_, keys)| **keys < target) {
            self.first_open = *bucket;
            return Ok(*bucket);
        }
        // All buckets are full.
        let most = self.limits.max_buckets.unwrap_or(MOST_BUCKETS);
        while self.keys.contains_key(&self.first_unused) {
            self.first_unused += 1;
        }
        if self.first_unused < most {
            self.first_open = self.first_unused;
            return Ok(self.first_unused);
        }
        self.first_open = MOST_BUCKETS;
        if self.limits.max_buckets.is_none() {
            let message = format!("a partition cannot have more than {MOST_BUCKETS} buckets");
            return Err(Error::new(ErrorKind::LimitExceeded, message)
                .hint("raise the table option dynamic-bucket.target-row-num"));
        }
        let place = usize::try_from(hash.unsigned_abs()).unwrap_or(0).checked_rem(self.numbers.len());
        let bucket = place.and_then(|place| self.numbers.get(place));
        bucket.copied().ok_or_else(|| Error::internal("a partition has no bucket"))
    }

    fn count(&mut self, bucket: u16, count: u64) {
        let numbers = &mut self.numbers;
        *self.keys.entry(bucket).or_insert_with(|| {
            numbers.push(bucket);
            0
        }) += count;
    }
}

impl KeyBuckets {
    pub(crate) fn new(limits: BucketLimits) -> Self {
        Self { sizes: BucketSizes::new(limits), by_hash: HashMap::new(), added: BTreeMap::new() }
    }

    /// Adds the hashes of the existing keys of a bucket.
    ///
    /// # Errors
    /// `CorruptData` for a bucket number that Java cannot assign.
    pub(crate) fn restore(&mut self, bucket: i32, hashes: impl Iterator<Item = i32>) -> Result<()> {
        let bucket = self.sizes.add(bucket, 0)?;
        self.by_hash.reserve(hashes.size_hint().0);
        let mut count = 0;
        for hash in hashes {
            self.by_hash.insert(hash, bucket);
            count += 1;
        }
        self.sizes.count(bucket, count);
        Ok(())
    }

    /// Returns the bucket of a key.
    ///
    /// # Errors
    /// `LimitExceeded` if the partition cannot have another bucket.
    pub(crate) fn assign(&mut self, hash: i32) -> Result<i32> {
        if let Some(bucket) = self.by_hash.get(&hash) {
            return Ok(i32::from(*bucket));
        }
        let bucket = self.sizes.add_key(hash)?;
        self.by_hash.insert(hash, bucket);
        self.added.entry(bucket).or_default().push(hash);
        Ok(i32::from(bucket))
    }

    /// Returns the hashes that were added to a bucket since the last call.
    pub(crate) fn take_added(&mut self, bucket: i32) -> Vec<i32> {
        u16::try_from(bucket).ok().and_then(|bucket| self.added.remove(&bucket)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(pairs: &[(&str, &str)]) -> Result<KeyBuckets> {
        let options = pairs.iter().map(|(name, value)| (format!("dynamic-bucket.{name}"), (*value).to_string()));
        BucketLimits::from_options(&Options::new(options.collect())).map(KeyBuckets::new)
    }

    fn assigned(buckets: &mut KeyBuckets, hashes: impl IntoIterator<Item = i32>) -> Vec<i32> {
        hashes.into_iter().map(|hash| buckets.assign(hash).unwrap()).collect()
    }

    #[test]
    fn keys_stay_in_their_bucket_and_buckets_fill_up() {
        let mut found = buckets(&[("target-row-num", "2")]).unwrap();
        assert_eq!(assigned(&mut found, [5, 5, -7, 5, 9, 8, 1, 9, -7]), [0, 0, 0, 0, 1, 1, 2, 1, 0]);
        assert_eq!(found.take_added(0), [5, -7]);
        assert_eq!((found.take_added(1), found.take_added(1)), (vec![9, 8], vec![]));
    }

    #[test]
    fn restored_keys_count_and_are_not_added() {
        let mut found = buckets(&[("target-row-num", "3")]).unwrap();
        found.restore(2, [1, 2].into_iter()).unwrap();
        found.restore(0, [3, 4, 5].into_iter()).unwrap();
        assert_eq!(assigned(&mut found, [1, 3, 10, 11, 12, 13, 14, 15]), [2, 0, 2, 1, 1, 1, 3, 3]);
        assert_eq!((found.take_added(0), found.take_added(2)), (vec![], vec![10]));
        for bucket in [-1, 32_767, 65_536] {
            assert!(found.restore(bucket, [1].into_iter()).is_err(), "{bucket}");
        }
    }

    #[test]
    fn full_buckets_take_more_keys_if_there_may_be_no_others() {
        let mut found = buckets(&[("target-row-num", "1"), ("max-buckets", "3")]).unwrap();
        let first = assigned(&mut found, 0..100);
        assert_eq!(first[..3], [0, 1, 2]);
        assert_eq!((0..3).map(|bucket| first.iter().filter(|one| **one == bucket).count()).min(), Some(33));
        assert_eq!(assigned(&mut found, 0..100), first);
    }

    #[test]
    fn the_number_of_buckets_is_limited() {
        let mut found = buckets(&[("target-row-num", "1")]).unwrap();
        assert_eq!(assigned(&mut found, 0..32_767).last(), Some(&32_766));
        assert_eq!(found.assign(-1).unwrap_err().kind(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn limits_that_leave_no_bucket_are_rejected() {
        for (name, value) in [
            ("target-row-num", "0"),
            ("target-row-num", "-1"),
            ("max-buckets", "0"),
            ("max-buckets", "-2"),
            ("max-buckets", "32768"),
        ] {
            let error = buckets(&[(name, value)]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    /// Java's assignments; `tests/histories/paimon/bucket_assignments.py` describes the format.
    const OF_JAVA: &str = include_str!("../../testdata/bucket_assignments.txt");

    #[test]
    fn keys_get_the_buckets_of_java() {
        for line in OF_JAVA.lines() {
            let [limits, known, rows] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
            let (target, most) = limits.split_once(' ').unwrap();
            let mut found = buckets(&[("target-row-num", target), ("max-buckets", most)]).unwrap();
            for bucket in known.split_whitespace() {
                let (bucket, hashes) = bucket.split_once(':').unwrap();
                found.restore(bucket.parse().unwrap(), hashes.split(',').map(|hash| hash.parse().unwrap())).unwrap();
            }
            for row in rows.split_whitespace() {
                let (hash, bucket) = row.split_once('>').unwrap();
                assert_eq!(found.assign(hash.parse().unwrap()).unwrap().to_string(), bucket, "{hash} of {line}");
            }
        }
        assert_eq!(OF_JAVA.lines().count(), 200);
    }
}
