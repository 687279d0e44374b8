//! Decompresses blocks with a size limit (Avro specification, "Required Codecs" and "Optional Codecs").
//!
//! ```text
//! null       the bytes
//! deflate    raw DEFLATE, no zlib header, no checksum
//! snappy     raw Snappy, then crc32:u32 BE of what it holds
//! zstandard, bzip2, xz   their own container formats
//! ```

use std::cell::Cell;
use std::io;

use bytes::Bytes;
use libdeflater::DecompressionError;
use zstd::zstd_safe::DCtx;

use crate::context::{Budget, Lease};
use crate::error::{Error, ErrorKind, Result};

/// The maximum size of a decompressed block. Writers flush blocks at 16 KiB to a few MiB.
pub const MAX_BLOCK_BYTES: usize = 128 << 20;

/// The compression of a file's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// No compression.
    Null,
    /// Raw DEFLATE.
    Deflate,
    /// Raw Snappy with a checksum.
    Snappy,
    /// Zstandard frames.
    Zstandard,
    /// A bzip2 stream.
    Bzip2,
    /// An xz stream.
    Xz,
}

impl Codec {
    /// Parses the value of `avro.codec`.
    ///
    /// # Errors
    /// `Unsupported` for unknown codecs.
    pub fn parse(name: &[u8]) -> Result<Self> {
        let known = [Self::Null, Self::Deflate, Self::Snappy, Self::Zstandard, Self::Bzip2, Self::Xz];
        known.into_iter().find(|codec| codec.name().as_bytes() == name).ok_or_else(|| {
            let shown = String::from_utf8_lossy(name.get(..64).unwrap_or(name)).into_owned();
            Error::unsupported(format!("the Avro codec {shown:?} is not supported"))
                .hint("rewrite the file with one of null, deflate, snappy, zstandard, bzip2, xz")
        })
    }

    /// Returns the name in `avro.codec`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Deflate => "deflate",
            Self::Snappy => "snappy",
            Self::Zstandard => "zstandard",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
}

/// The maximum size of the Zstandard context that a thread keeps.
const MAX_KEPT_CONTEXT_BYTES: usize = 4 << 20;

thread_local! {
    static ZSTD: Cell<Option<DCtx<'static>>> = const { Cell::new(None) };
}

/// A decompressor that reuses one buffer for all blocks.
pub(super) struct Inflater {
    codec: Codec,
    /// The compressed block.
    compressed: Bytes,
    /// The number of bytes of `buffer` in use.
    length: usize,
    limit_bytes: usize,
    budget: Budget,
    buffer: Vec<u8>,
    /// The leases on the memory of `buffer`.
    leases: Vec<Lease>,
    deflate: Option<libdeflater::Decompressor>,
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflater").field("codec", &self.codec).finish_non_exhaustive()
    }
}

impl Inflater {
    pub(super) fn new(codec: Codec, budget: Budget) -> Self {
        Self::with_limit(codec, budget, MAX_BLOCK_BYTES)
    }

    fn with_limit(codec: Codec, budget: Budget, limit_bytes: usize) -> Self {
        Self {
            codec,
            compressed: Bytes::new(),
            length: 0,
            limit_bytes,
            budget,
            buffer: Vec::new(),
            leases: Vec::new(),
            deflate: None,
        }
    }

    /// Decompresses a block, which is kept until the next one.
    ///
    /// # Errors
    /// `CorruptData` if decompression fails or the checksum differs; `LimitExceeded` above the size limit or the
    /// budget.
    pub(super) fn load(&mut self, compressed: Bytes) -> Result<()> {
        self.length = 0;
        self.length = match self.codec {
            Codec::Null if compressed.len() > self.limit_bytes => return Err(self.too_large()),
            Codec::Null => 0,
            Codec::Deflate => self.deflate(&compressed)?,
            Codec::Snappy => self.snappy(&compressed)?,
            Codec::Zstandard => self.zstandard(&compressed)?,
            Codec::Bzip2 => self.stream(bzip2::read::MultiBzDecoder::new(compressed.as_ref()))?,
            Codec::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(self.limit_bytes as u64, 0);
                let stream = stream.map_err(undecodable)?;
                self.stream(liblzma::read::XzDecoder::new_stream(compressed.as_ref(), stream))?
            }
        };
        self.compressed = compressed;
        Ok(())
    }

    /// Returns the contents of the block.
    pub(super) fn block(&self) -> &[u8] {
        match self.codec {
            Codec::Null => &self.compressed,
            _ => self.buffer.get(..self.length).unwrap_or_default(),
        }
    }

    /// Decompresses raw DEFLATE. The format does not record the decompressed size, so the size is estimated, and the
    /// buffer grows if it is too small.
    fn deflate(&mut self, compressed: &[u8]) -> Result<usize> {
        let guess = compressed.len().saturating_mul(8).clamp(1 << 16, self.limit_bytes.max(1 << 16));
        self.room(guess.min(self.limit_bytes))?;
        loop {
            let decompressor = self.deflate.get_or_insert_with(libdeflater::Decompressor::new);
            match decompressor.deflate_decompress(compressed, &mut self.buffer) {
                Ok(length) => return Ok(length),
                Err(DecompressionError::BadData) => return Err(undecodable(DecompressionError::BadData)),
                Err(DecompressionError::InsufficientSpace) if self.buffer.len() >= self.limit_bytes => {
                    return Err(self.too_large());
                }
                Err(DecompressionError::InsufficientSpace) => {
                    self.room(self.buffer.len().saturating_mul(4).min(self.limit_bytes))?;
                }
            }
        }
    }

    fn snappy(&mut self, block: &[u8]) -> Result<usize> {
        let Some((compressed, checksum)) = block.split_last_chunk::<4>() else {
            return Err(Error::corrupt("a Snappy block has no checksum"));
        };
        let length = snap::raw::decompress_len(compressed).map_err(undecodable)?;
        // Three bytes of Snappy decompress to at most 64 bytes.
        if length > compressed.len().saturating_mul(64) {
            return Err(Error::corrupt(format!(
                "a Snappy block declares {length} bytes, but has only {} compressed bytes",
                compressed.len()
            )));
        }
        if length > self.limit_bytes {
            return Err(self.too_large());
        }
        self.room(length)?;
        let length = snap::raw::Decoder::new().decompress(compressed, &mut self.buffer).map_err(undecodable)?;
        let found = crc32fast::hash(self.buffer.get(..length).unwrap_or_default());
        let expected = u32::from_be_bytes(*checksum);
        if found == expected {
            Ok(length)
        } else {
            Err(Error::corrupt(format!("the checksum of the block is {found:08x}, but {expected:08x} is recorded")))
        }
    }

    /// Decompresses Zstandard. Creating a context takes longer than decompressing a small block, so each thread keeps
    /// one.
    fn zstandard(&mut self, compressed: &[u8]) -> Result<usize> {
        let kept = ZSTD.with(Cell::take);
        let made = kept.or_else(DCtx::try_create);
        let mut context =
            made.ok_or_else(|| Error::new(ErrorKind::LimitExceeded, "not enough memory for a Zstandard context"))?;
        let length = self.stream(zstd::Decoder::with_context(compressed, &mut context));
        // A context that stopped inside a frame cannot be reused for another frame. A context that has grown to the
        // window of a large file needs too much memory to be kept.
        if length.is_ok() && context.sizeof() <= MAX_KEPT_CONTEXT_BYTES {
            ZSTD.set(Some(context));
        }
        length
    }

    /// Decompresses with a decoder that detects its end.
    fn stream(&mut self, mut decoder: impl io::Read) -> Result<usize> {
        let mut length = 0;
        loop {
            let wanted = self.buffer.len().saturating_mul(2).clamp(1 << 16, self.limit_bytes.max(1 << 16));
            if length == self.buffer.len() {
                if length >= self.limit_bytes {
                    // The buffer is full: valid only if no data is left.
                    return if some(&mut decoder, &mut [0])? == 0 { Ok(length) } else { Err(self.too_large()) };
                }
                self.room(wanted.min(self.limit_bytes))?;
            }
            match some(&mut decoder, self.buffer.get_mut(length..).unwrap_or_default())? {
                0 => return Ok(length),
                n => length += n,
            }
        }
    }

    /// Grows the buffer to `bytes`, within the budget.
    fn room(&mut self, bytes: usize) -> Result<()> {
        if let Some(more) = bytes.checked_sub(self.buffer.len()).filter(|&more| more > 0) {
            self.leases.push(self.budget.lease(more as u64)?);
            if self.buffer.is_empty() {
                // Newly allocated zeroed memory uses no physical memory until it is written.
                self.buffer = vec![0; bytes];
            } else {
                self.buffer.resize(bytes, 0);
            }
        }
        Ok(())
    }

    #[cold]
    fn too_large(&self) -> Error {
        Error::new(ErrorKind::LimitExceeded, format!("an Avro block exceeds {} bytes", self.limit_bytes))
    }
}

/// Reads part of the remaining data; returns 0 only at the end.
fn some(decoder: &mut impl io::Read, buffer: &mut [u8]) -> Result<usize> {
    loop {
        #[expect(clippy::disallowed_methods, reason = "the caller loops until the end")]
        match decoder.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map_err(undecodable),
        }
    }
}

#[cold]
fn undecodable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::corrupt("an Avro block cannot be decompressed").caused_by(cause)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// Returns `bytes` as a block of the given codec.
    fn compressed(codec: Codec, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match codec {
            Codec::Null => out.extend(bytes),
            Codec::Deflate => {
                let mut encoder = flate2::write::DeflateEncoder::new(&mut out, flate2::Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap();
            }
            Codec::Snappy => {
                out = snap::raw::Encoder::new().compress_vec(bytes).unwrap();
                out.extend(crc32fast::hash(bytes).to_be_bytes());
            }
            Codec::Zstandard => out = zstd::encode_all(bytes, 1).unwrap(),
            Codec::Bzip2 => {
                let level = bzip2::Compression::fast();
                bzip2::read::BzEncoder::new(bytes, level).read_to_end(&mut out).map(drop).unwrap();
            }
            Codec::Xz => liblzma::read::XzEncoder::new(bytes, 1).read_to_end(&mut out).map(drop).unwrap(),
        }
        out
    }

    const ALL: [(&str, Codec); 6] = [
        ("null", Codec::Null),
        ("deflate", Codec::Deflate),
        ("snappy", Codec::Snappy),
        ("zstandard", Codec::Zstandard),
        ("bzip2", Codec::Bzip2),
        ("xz", Codec::Xz),
    ];

    #[test]
    fn every_codec_restores_blocks_of_any_size() {
        for (name, codec) in ALL {
            assert_eq!(Codec::parse(name.as_bytes()).unwrap(), codec);
            let mut inflater = Inflater::new(codec, Budget::default());
            for len in [0, 1, 1 << 16, 700_001, 5] {
                let bytes: Vec<u8> = (0..len).map(|i: u32| u8::try_from(i / 7 % 251).unwrap()).collect();
                inflater.load(compressed(codec, &bytes).into()).unwrap();
                assert_eq!(inflater.block(), bytes, "{name} {len}");
            }
        }
        assert_eq!(Codec::parse(b"brotli").unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn a_block_above_the_cap_is_refused_and_one_at_the_cap_is_not() {
        let limit = 100_000;
        for (name, codec) in ALL {
            let mut inflater = Inflater::with_limit(codec, Budget::default(), limit);
            // xz also counts its dictionary, which is 1 MiB here.
            if codec != Codec::Xz {
                inflater.load(compressed(codec, &vec![7; limit]).into()).unwrap();
                assert_eq!(inflater.block().len(), limit);
            }
            let error = inflater.load(compressed(codec, &vec![7; limit + 1]).into()).unwrap_err();
            assert!(codec == Codec::Xz || error.kind() == ErrorKind::LimitExceeded, "{name}: {error}");
            assert!(inflater.buffer.len() <= limit);
        }
    }

    #[test]
    fn blocks_debit_the_budget() {
        for (name, codec) in ALL.into_iter().skip(1) {
            let budget = Budget::new(200_000);
            let mut inflater = Inflater::new(codec, budget.clone());
            inflater.load(compressed(codec, &vec![7; 50_000]).into()).unwrap();
            assert!(budget.used_bytes() >= 50_000, "{name}");
            let error = inflater.load(compressed(codec, &vec![7; 300_000]).into()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{name}: {error}");
            drop(inflater);
            assert_eq!(budget.used_bytes(), 0);
        }
    }

    #[test]
    fn damage_is_corrupt() {
        for (name, codec) in ALL.into_iter().skip(1) {
            let bytes: Vec<u8> = (0..5000_u32).map(|i| u8::try_from(i * i % 251).unwrap()).collect();
            let whole = compressed(codec, &bytes);
            for cut in [0, 1, 3, whole.len() / 2, whole.len() - 1] {
                let mut inflater = Inflater::new(codec, Budget::default());
                let result = inflater.load(Bytes::copy_from_slice(&whole[..cut]));
                // Some codecs treat an empty stream as an empty block.
                let empty = cut == 0 && result.is_ok() && inflater.block().is_empty();
                let error = result.err();
                assert!(empty || error.is_some_and(|e| e.kind() == ErrorKind::CorruptData), "{name} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_snappy_block_with_another_checksum_is_corrupt() {
        let mut block = compressed(Codec::Snappy, b"some bytes");
        *block.last_mut().unwrap() ^= 1;
        let error = Inflater::new(Codec::Snappy, Budget::default()).load(block.into()).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
        // A block of three bytes that declares 2^31 bytes.
        let bomb = [0xff, 0xff, 0xff, 0xff, 0x07, 0, 0, 0, 0, 0, 0];
        let error = Inflater::new(Codec::Snappy, Budget::default()).load(bomb.to_vec().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptData);
    }
}
