//! A k-way merge of sorted runs with a loser tree, which always returns the smallest key next.
//!
//! ```text
//!            winner            leaves are the runs that still have rows, oldest first;
//!              |               an inner node keeps the loser of the match played there,
//!             [1]              so that after the winner's run moved on only its path to
//!           /     \            the root is played again
//!        [2]       [3]
//!       /   \     /   \
//!     run 0  1   2     3
//! ```
//!
//! If a run wins repeatedly, the merge gallops: it searches the end of its rows below the smallest key of the other
//! runs, and returns the whole range without comparing its keys.

use std::cmp::Ordering;
use std::fmt::Debug;

use arrow_array::RecordBatch;
use frazil_core::error::{Error, ErrorKind, Result};

use super::engine::Engine;
use super::held::{Batches, Pick};
use super::order::{KeyColumns, Keys};
use super::pending::Pending;
use super::watch::Watched;

/// The number of consecutive keys of one run from which the merge gallops.
const GALLOP: u32 = 12;

/// The number of rows from which a range is not combined with other rows but becomes a separate output batch.
const ALONE: u32 = 8192;

/// The reason why the merge pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// A run has no current row.
    Need(usize),
    /// Enough rows are decided.
    Full,
    /// All runs have ended.
    Done,
}

/// The parameters that a merge decides by.
pub(super) struct Rules<'a> {
    pub(super) batches: &'a Batches,
    pub(super) engine: &'a mut dyn Engine,
    pub(super) pending: &'a mut Pending,
    /// The maximum number of decided rows in an output batch.
    limit: usize,
    /// Whether only the last record of a key is used.
    takes_last: bool,
    /// See [`Batches::retain_lookup`].
    lookup: bool,
    watched: Option<&'a mut Watched>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(
        batches: &'a Batches,
        engine: &'a mut dyn Engine,
        pending: &'a mut Pending,
        (limit, lookup): (usize, bool),
        watched: Option<&'a mut Watched>,
    ) -> Self {
        let takes_last = engine.takes_last() && watched.is_none();
        Self { batches, engine, pending, limit, takes_last, lookup, watched }
    }

    /// Returns whether the records of a level are only looked up.
    fn looks_up(&self, level: i32) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.looks_up(level))
    }

    /// Returns whether a key with a single record is returned unchanged.
    fn passes_alone(&self) -> bool {
        self.watched.is_none() || !self.engine.computes()
    }
}

/// The runs of a merge, for any type of key.
pub(super) trait Race: Debug + Send {
    /// Adds the next rows of a run, held as `batch`, or None at its end.
    fn push(&mut self, run: usize, batch: Option<(usize, &RecordBatch)>, keys: &KeyColumns) -> Result<()>;

    /// Advances until rows are missing or enough are decided.
    fn advance(&mut self, rules: &mut Rules<'_>) -> Result<Pause>;

    /// Returns whether the pending rows can be returned: false while later records may have the key of the last row of
    /// a range.
    fn settled(&self) -> bool;

    /// Returns whether a batch contains current rows of a run or records of the open key.
    fn needs(&self, batch: usize) -> bool;

    /// Updates batch positions after batches were dropped; `moved` maps old positions to new ones.
    fn renumber(&mut self, moved: &[Option<u32>]);
}

/// The position of a run in its batch.
#[derive(Debug)]
struct RunPlace<K> {
    keys: Option<K>,
    batch: u32,
    row: u32,
    len: u32,
    /// Whether the keys of the batch are strictly ascending.
    strict: bool,
    ended: bool,
}

impl<K: Keys> RunPlace<K> {
    fn new() -> Self {
        Self { keys: None, batch: 0, row: 0, len: 0, strict: false, ended: false }
    }

    /// Returns the word of the key at this position.
    #[inline]
    fn word(&self) -> Option<K::Word> {
        self.keys.as_ref().map(|keys| keys.word(self.row as usize))
    }
}

#[derive(Debug, Clone, Copy)]
struct Node<W> {
    word: W,
    run: u32,
}

/// Runs with keys of the same type.
#[derive(Debug)]
pub(super) struct Runs<K: Keys> {
    /// The keys, by held batch.
    keys: Vec<Option<K>>,
    places: Vec<RunPlace<K>>,
    /// The greatest word of each run so far.
    tops: Vec<Option<K::Word>>,
    /// The runs in the tree, oldest first.
    leaves: Vec<u32>,
    /// The index of each run among the leaves.
    leaf_of: Vec<u32>,
    /// The losers of the tree. Node 0 is unused.
    losers: Vec<Node<K::Word>>,
    winner: Option<Node<K::Word>>,
    /// Whether the tree must be rebuilt.
    stale: bool,
    /// The run that won last and has no current row.
    waiting: Option<u32>,
    /// The records of the smallest key so far.
    open: Vec<Pick>,
    /// The word of the smallest key; None without records.
    open_word: Option<K::Word>,
    /// The last row of a range that reached the end of its batch. The next batch of the run may continue its key.
    tail: Option<(u32, Pick)>,
    streak: u32,
    last_run: u32,
}

impl<K: Keys> Runs<K> {
    pub(super) fn new(runs: u32) -> Self {
        Self {
            keys: Vec::new(),
            places: (0..runs).map(|_| RunPlace::new()).collect(),
            tops: vec![None; runs as usize],
            leaves: Vec::new(),
            leaf_of: vec![0; runs as usize],
            losers: Vec::new(),
            winner: None,
            stale: true,
            waiting: None,
            open: Vec::new(),
            open_word: None,
            tail: None,
            streak: 0,
            last_run: u32::MAX,
        }
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "nodes reference runs that have a place")]
    fn place(&self, run: u32) -> &RunPlace<K> {
        &self.places[run as usize]
    }

    #[inline]
    fn keys_of(&self, batch: u32) -> Option<&K> {
        self.keys.get(batch as usize).and_then(Option::as_ref)
    }

    #[inline]
    fn word(&self, run: u32) -> Option<K::Word> {
        self.place(run).word()
    }

    /// Returns whether the row of `a` precedes that of `b`: by key, then the older run first.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "the next run is unpredictable, so branches are avoided")]
    fn before(&self, a: Node<K::Word>, b: Node<K::Word>) -> bool {
        if K::EXACT {
            return (a.word < b.word) | ((a.word == b.word) & (a.run < b.run));
        }
        match a.word.cmp(&b.word) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                let (x, y) = (self.place(a.run), self.place(b.run));
                let rest = self.rest(Pick { batch: x.batch, row: x.row }, Pick { batch: y.batch, row: y.row });
                rest.then(a.run.cmp(&b.run)).is_lt()
            }
        }
    }

    #[inline]
    fn rest(&self, a: Pick, b: Pick) -> Ordering {
        match self.keys_of(a.batch).zip(self.keys_of(b.batch)) {
            Some((x, y)) => x.rest(a.row as usize, y, b.row as usize),
            None => Ordering::Equal,
        }
    }

    /// Rebuilds the tree.
    fn build(&mut self) {
        self.leaves = (0..).zip(&self.places).filter(|(_, place)| !place.ended).map(|(run, _)| run).collect();
        let count = self.leaves.len();
        for (leaf, &run) in (0..).zip(&self.leaves) {
            if let Some(place) = self.leaf_of.get_mut(run as usize) {
                *place = leaf;
            }
        }
        self.losers.clear();
        self.stale = false;
        let node = |run: &u32| self.word(*run).map(|word| Node { word, run: *run });
        let mut winners: Vec<Option<Node<K::Word>>> = vec![None; count];
        winners.extend(self.leaves.iter().map(node));
        let filler = winners.last().copied().flatten();
        let mut losers = vec![filler; count];
        for at in (1..count).rev() {
            let (left, right) = (winners.get(2 * at).copied().flatten(), winners.get(2 * at + 1).copied().flatten());
            let (Some(left), Some(right)) = (left, right) else { continue };
            let (winner, loser) = if self.before(left, right) { (left, right) } else { (right, left) };
            if let Some(place) = losers.get_mut(at) {
                *place = Some(loser);
            }
            if let Some(place) = winners.get_mut(at) {
                *place = Some(winner);
            }
        }
        self.winner = winners.get(1).copied().flatten();
        self.losers = losers.into_iter().flatten().collect();
    }

    /// Replays the path of a run whose current row has changed.
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "the number of a parent is less than that of its child, and node 0 ends the path"
    )]
    fn replay(&mut self, run: u32, word: K::Word) {
        let mut winner = Node { word, run };
        let mut at = usize::midpoint(self.leaf_of[run as usize] as usize, self.leaves.len());
        while at > 0 {
            let other = self.losers[at];
            let swap = self.before(other, winner);
            self.losers[at] = if swap { winner } else { other };
            winner = if swap { other } else { winner };
            at /= 2;
        }
        self.winner = Some(winner);
    }

    /// Returns the best of the runs that lost to the winner.
    fn challenger(&self, run: u32) -> Option<Node<K::Word>> {
        let mut at = usize::midpoint(self.leaf_of.get(run as usize).copied()? as usize, self.leaves.len());
        let mut best: Option<Node<K::Word>> = None;
        while at > 0 {
            let other = *self.losers.get(at)?;
            if best.is_none_or(|best| self.before(other, best)) {
                best = Some(other);
            }
            at /= 2;
        }
        best
    }

    /// Returns the number of rows of the winner, from the current one, that precede the current rows of all other runs.
    fn lead(&self, run: u32) -> u32 {
        let place = self.place(run);
        let rest = place.len - place.row;
        let (Some(keys), Some(challenger)) = (self.keys_of(place.batch), self.challenger(run)) else { return rest };
        let rival = self.place(challenger.run);
        let Some(rival_keys) = self.keys_of(rival.batch) else { return rest };
        let below = |offset: u32| keys.compare((place.row + offset) as usize, rival_keys, rival.row as usize).is_lt();
        // Exponential search: doubles the step, then bisects.
        let (mut low, mut high) = (0, 1_u32);
        while high < rest && below(high) {
            low = high;
            high = high.saturating_mul(2);
        }
        high = high.min(rest);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if below(middle) { low = middle } else { high = middle }
        }
        high
    }

    /// Ends the key whose records are open.
    #[inline]
    fn close(&mut self, rules: &mut Rules<'_>) -> Result<()> {
        match self.open.as_slice() {
            [] => {}
            _ if rules.watched.is_some() => {
                if let Some(watched) = &mut rules.watched {
                    watched.close(rules.batches, rules.engine, rules.pending, &mut self.open)?;
                }
            }
            // A key with a single record is returned unchanged, for every engine.
            [only] => rules.pending.push(*only),
            _ => {
                if rules.lookup {
                    rules.batches.retain_lookup(&mut self.open);
                }
                rules.engine.merge(rules.batches, &mut self.open, rules.pending)?;
            }
        }
        self.open.clear();
        self.open_word = None;
        Ok(())
    }

    /// Returns whether the winner's key is that of the open records.
    #[inline]
    fn continues(&self, winner: Node<K::Word>) -> bool {
        if self.open_word != Some(winner.word) {
            return false;
        }
        K::EXACT || {
            let place = self.place(winner.run);
            let here = Pick { batch: place.batch, row: place.row };
            self.open.first().is_some_and(|first| self.rest(*first, here).is_eq())
        }
    }

    /// Opens a key, or adds a record to the open key.
    #[inline]
    fn take(&mut self, record: Pick, word: Option<K::Word>, takes_last: bool) {
        if takes_last {
            self.open.clear();
        }
        self.open.push(record);
        self.open_word = word;
    }

    /// Adds a long lead of the winner to the output as a range. Returns the number of rows, 0 if the lead is short.
    /// Returns None if the pending rows must be returned first.
    #[cold]
    fn gallop(&mut self, run: u32, rules: &mut Rules<'_>) -> Option<u32> {
        let room = u32::try_from(rules.limit.saturating_sub(rules.pending.len())).unwrap_or(u32::MAX);
        let lead = self.lead(run);
        if lead >= ALONE && !rules.pending.is_empty() {
            return None;
        }
        let lead = lead.min(room);
        if lead <= GALLOP {
            self.streak = 0;
            return Some(0);
        }
        let place = self.place(run);
        let level = rules.batches.level(Pick { batch: place.batch, row: place.row });
        if rules.looks_up(level) {
            return Some(lead);
        }
        rules.pending.push_range(place.batch, place.row, lead);
        if let Some(watched) = &mut rules.watched {
            watched.push_range(level, lead);
        }
        Some(lead)
    }

    /// Checks whether the last row of a range has the key of the next batch. If so, moves the row to the open records.
    fn settle(&mut self, rules: &mut Rules<'_>) {
        let Some((run, tail)) = self.tail.take() else { return };
        let place = self.place(run);
        let next = Pick { batch: place.batch, row: place.row };
        let keys = self.keys_of(tail.batch).zip(self.keys_of(next.batch));
        if place.ended || keys.is_none_or(|(x, y)| x.compare(tail.row as usize, y, next.row as usize).is_ne()) {
            return;
        }
        rules.pending.shorten();
        if let Some(watched) = &mut rules.watched {
            watched.shorten();
        }
        self.take(tail, self.word(run), rules.takes_last);
    }

    /// Advances a run by some rows, and returns whether it then has a current row.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "nodes reference runs that have a place")]
    fn step(&mut self, run: u32, rows: u32) -> bool {
        let place = &mut self.places[run as usize];
        place.row += rows;
        if place.row >= place.len {
            self.waiting = Some(run);
            return false;
        }
        if let Some(word) = place.word() {
            self.replay(run, word);
        }
        true
    }
}

impl<K: Keys> Race for Runs<K> {
    fn push(&mut self, run: usize, batch: Option<(usize, &RecordBatch)>, columns: &KeyColumns) -> Result<()> {
        let narrow = |count: usize| u32::try_from(count).map_err(|_| too_long(count));
        let unknown = || Error::internal("a run does not exist");
        let place = self.places.get_mut(run).ok_or_else(unknown)?;
        if place.ended || place.row < place.len {
            return Err(Error::invalid(format!("run {run} was not requested")));
        }
        let Some((at, batch)) = batch else {
            (place.ended, place.keys) = (true, None);
            self.stale = true;
            self.waiting = self.waiting.filter(|&waiting| waiting as usize != run);
            return Ok(());
        };
        let keys = K::try_new(columns, batch)?;
        let rows = batch.num_rows();
        let order = keys.ascent(rows);
        let top = self.tops.get_mut(run).ok_or_else(unknown)?;
        if order.is_gt() || top.is_some_and(|top| top > keys.word(0)) {
            return Err(Error::corrupt("the keys of a sorted run are not ascending"));
        }
        *top = rows.checked_sub(1).map(|last| keys.word(last));
        let (batch, len) = (narrow(at)?, narrow(rows)?);
        *place = RunPlace { keys: Some(keys.clone()), batch, row: 0, len, strict: order.is_lt(), ended: false };
        if self.keys.len() <= at {
            self.keys.resize_with(at + 1, || None);
        }
        if let Some(slot) = self.keys.get_mut(at) {
            *slot = Some(keys);
        }
        let run = narrow(run)?;
        if self.waiting == Some(run) {
            self.waiting = None;
            if let Some(word) = self.word(run).filter(|_| !self.stale) {
                self.replay(run, word);
            }
        }
        Ok(())
    }

    fn advance(&mut self, rules: &mut Rules<'_>) -> Result<Pause> {
        if let Some(run) = self.waiting {
            return Ok(Pause::Need(run as usize));
        }
        self.settle(rules);
        if rules.pending.len() >= rules.limit {
            return Ok(Pause::Full);
        }
        if self.stale {
            if let Some(run) = self.places.iter().position(|place| !place.ended && place.row >= place.len) {
                return Ok(Pause::Need(run));
            }
            self.build();
        }
        while let Some(winner) = self.winner {
            let run = winner.run;
            let mut rows = 0;
            if !self.continues(winner) {
                self.close(rules)?;
                if rules.pending.len() >= rules.limit {
                    return Ok(Pause::Full);
                }
                self.streak = if run == self.last_run { self.streak + 1 } else { 0 };
                self.last_run = run;
                if self.streak >= GALLOP && self.place(run).strict && rules.passes_alone() {
                    let Some(lead) = self.gallop(run, rules) else { return Ok(Pause::Full) };
                    rows = lead;
                }
            }
            if rows == 0 {
                let place = self.place(run);
                self.take(Pick { batch: place.batch, row: place.row }, Some(winner.word), rules.takes_last);
                rows = 1;
            }
            let last = {
                let place = self.place(run);
                Pick { batch: place.batch, row: place.row + rows - 1 }
            };
            if !self.step(run, rows) {
                self.tail = (rows > 1 && !rules.looks_up(rules.batches.level(last))).then_some((run, last));
                return Ok(Pause::Need(run as usize));
            }
            if rows >= ALONE {
                return Ok(Pause::Full);
            }
        }
        self.close(rules)?;
        Ok(Pause::Done)
    }

    fn settled(&self) -> bool {
        self.tail.is_none()
    }

    fn needs(&self, batch: usize) -> bool {
        let running = |place: &RunPlace<K>| !place.ended && place.row < place.len && place.batch as usize == batch;
        self.places.iter().any(running) || self.open.iter().any(|pick| pick.batch as usize == batch)
    }

    fn renumber(&mut self, moved: &[Option<u32>]) {
        let to = |batch: u32| moved.get(batch as usize).copied().flatten();
        self.places.iter_mut().for_each(|place| place.batch = to(place.batch).unwrap_or(place.batch));
        self.open.iter_mut().for_each(|pick| pick.batch = to(pick.batch).unwrap_or(pick.batch));
        let mut kept = moved.iter();
        self.keys.retain(|_| kept.next().is_none_or(Option::is_some));
    }
}

#[cold]
fn too_long(rows: usize) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("a batch of {rows} rows is too long to be merged"))
}
