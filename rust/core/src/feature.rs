//! The supported features of a specification as data, used by checks and by the documentation.

use crate::error::{Error, Result};

/// A section of a specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// The name of the section.
    pub section: &'static str,
    /// The modules that implement it.
    pub modules: &'static [&'static str],
    /// The golden tables (`*` is a wildcard) or the tests that prove it.
    pub proof: &'static [&'static str],
    /// Whether tables with the feature can be read.
    pub read: Support,
    /// Whether the feature can be written.
    pub write: Support,
}

/// Whether a feature is supported, with a note for the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Supported; the note lists limits, if there are any.
    Yes(&'static str),
    /// Not supported; the error contains the note.
    No(&'static str),
}

impl Feature {
    /// Returns an error if tables with the feature cannot be read.
    ///
    /// # Errors
    /// `Unsupported` with the feature.
    pub fn check_read(&self) -> Result<()> {
        self.check(self.read)
    }

    /// Returns an error if tables with the feature cannot be written.
    ///
    /// # Errors
    /// `Unsupported` with the feature.
    pub fn check_write(&self) -> Result<()> {
        self.check(self.write)
    }

    fn check(&self, support: Support) -> Result<()> {
        match support {
            Support::Yes(_) => Ok(()),
            Support::No(note) => Err(Error::unsupported(note).with("feature", self.section)),
        }
    }
}

impl Support {
    /// Returns the cell of the documentation's table.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Yes("") => "yes",
            Self::Yes(note) | Self::No(note) => note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_features_are_rejected_by_name() {
        let views = Feature {
            section: "Views",
            modules: &[],
            proof: &[],
            read: Support::Yes(""),
            write: Support::No("not written"),
        };
        assert!(views.check_read().is_ok());
        assert_eq!(views.check_write().unwrap_err().to_string(), "not written (feature: Views)");
    }
}
