//! SQL conditions and values: [`expression`] has the grammar, [`predicate`] the calculus that prunes.

pub mod expression;
pub mod predicate;
