//! The formats of data files, identified by the extension of the file name.

use frazil_core::error::{Error, Result};

/// The format of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet: every leaf column can be read separately.
    Parquet,
    /// Apache ORC: top-level columns are read whole.
    Orc,
    /// Apache Avro: top-level columns are read whole.
    Avro,
}

impl FileFormat {
    /// Returns the name of the format in capitals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "PARQUET",
            Self::Orc => "ORC",
            Self::Avro => "AVRO",
        }
    }

    /// Returns the file extension of the format.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Orc => "orc",
            Self::Avro => "avro",
        }
    }

    /// Returns the format of a data file by its extension. The format of a table can change, and levels may have
    /// different formats.
    ///
    /// # Errors
    /// `Unsupported` for any other extension.
    pub fn from_file_name(name: &str) -> Result<Self> {
        Self::of_file_name(name).ok_or_else(|| {
            let message = match name.rsplit_once('.') {
                Some((_, other)) => format!("data files of format {other} are not supported"),
                None => "a data file without an extension is not supported".to_owned(),
            };
            Error::unsupported(message).with("file", name)
        })
    }

    /// Returns the format of a data file, or None for any other extension.
    pub fn of_file_name(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "parquet" => Some(Self::Parquet),
            "orc" => Some(Self::Orc),
            "avro" => Some(Self::Avro),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_says_the_format() {
        assert_eq!(FileFormat::from_file_name("data-1.orc.parquet").unwrap(), FileFormat::Parquet);
        assert_eq!(FileFormat::from_file_name("data-1-0.orc").unwrap(), FileFormat::Orc);
        assert_eq!(FileFormat::from_file_name("changelog-1-0.avro").unwrap(), FileFormat::Avro);
        for name in ["data-1.blob", "data", "data.PARQUET", ""] {
            assert!(FileFormat::from_file_name(name).is_err(), "{name}");
        }
    }
}
