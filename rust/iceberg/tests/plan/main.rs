//! Tests of planning for tables whose manifests another library wrote.

#![cfg(test)]

mod decode;
mod deletes;
mod history;
mod keep;
#[path = "../support/mod.rs"]
mod support;
mod tasks;
