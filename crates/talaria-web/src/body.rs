//! Collects the body of a response under a limit: a compressed one is unpacked piece by piece, and reading stops as soon
//! as the limit is reached, so that neither a long body nor a bomb fills the memory.
//!
//! No I/O: `fetch` feeds it with pieces as they arrive.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};

/// Bytes up to a limit; a write beyond it fails.
#[derive(Debug)]
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.limit - self.bytes.len();
        if room == 0 && !piece.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = &piece[..piece.len().min(room)];
        self.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
enum Unpacking {
    Plain(Bounded),
    Gzip(GzDecoder<Bounded>),
    /// `deflate`, before its first byte says whether it has the header of zlib.
    Undecided(Bounded),
    Zlib(ZlibDecoder<Bounded>),
    Raw(DeflateDecoder<Bounded>),
}

/// Result of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// More may follow.
    More,
    /// The limit is reached: nothing more is taken.
    Full,
    /// It cannot be unpacked.
    Broken,
}

/// A body while it is read.
#[derive(Debug)]
pub(crate) struct BodyReader {
    state: Option<Unpacking>,
    /// How many bytes may still come from the network: a body that unpacks to nothing is endless otherwise.
    raw: usize,
}

impl BodyReader {
    /// Reads a body with this `Content-Encoding`; `None` if that is not supported.
    pub(crate) fn new(encoding: &str, limit: usize) -> Option<Self> {
        let out = Bounded { bytes: Vec::new(), limit };
        let state = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Unpacking::Plain(out),
            "gzip" | "x-gzip" => Unpacking::Gzip(GzDecoder::new(out)),
            "deflate" => Unpacking::Undecided(out),
            _ => return None,
        };
        Some(Self { state: Some(state), raw: limit })
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Taken {
        let (piece, is_over) = match piece.len() > self.raw {
            true => (&piece[..self.raw], true),
            false => (piece, false),
        };
        self.raw -= piece.len();
        if let Some(Unpacking::Undecided(_)) = &self.state
            && let Some(first) = piece.first()
        {
            let is_zlib = first & 0x0f == 8;
            self.state = match self.state.take() {
                Some(Unpacking::Undecided(out)) if is_zlib => Some(Unpacking::Zlib(ZlibDecoder::new(out))),
                Some(Unpacking::Undecided(out)) => Some(Unpacking::Raw(DeflateDecoder::new(out))),
                other => other,
            };
        }
        let written = match &mut self.state {
            Some(Unpacking::Plain(out) | Unpacking::Undecided(out)) => out.write_all(piece),
            Some(Unpacking::Gzip(decoder)) => decoder.write_all(piece),
            Some(Unpacking::Zlib(decoder)) => decoder.write_all(piece),
            Some(Unpacking::Raw(decoder)) => decoder.write_all(piece),
            None => Ok(()),
        };
        match written {
            Ok(()) if is_over => Taken::Full,
            Ok(()) => Taken::More,
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Taken::Full,
            // Bytes after the end of a compressed body do not invalidate it.
            Err(error) if error.kind() == io::ErrorKind::WriteZero => Taken::More,
            Err(_) => Taken::Broken,
        }
    }

    /// Returns what was read. The end of an incomplete compressed body may be missing.
    pub(crate) fn finish(self) -> Vec<u8> {
        match self.state {
            Some(Unpacking::Plain(out) | Unpacking::Undecided(out)) => out.bytes,
            Some(Unpacking::Gzip(mut decoder)) => {
                let _ = decoder.try_finish();
                std::mem::take(&mut decoder.get_mut().bytes)
            }
            Some(Unpacking::Zlib(mut decoder)) => {
                let _ = decoder.try_finish();
                std::mem::take(&mut decoder.get_mut().bytes)
            }
            Some(Unpacking::Raw(mut decoder)) => {
                let _ = decoder.try_finish();
                std::mem::take(&mut decoder.get_mut().bytes)
            }
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const LIMIT: usize = 10_000;

    fn read(encoding: &str, bytes: &[u8], size: usize) -> (Vec<u8>, Taken) {
        let mut body = BodyReader::new(encoding, LIMIT).unwrap();
        let mut last = Taken::More;
        for piece in bytes.chunks(size) {
            last = body.push(piece);
            if last != Taken::More {
                break;
            }
        }
        (body.finish(), last)
    }

    fn packed(encoding: &str, text: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        match encoding {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            _ => {
                let mut encoder = DeflateEncoder::new(Vec::new(), level);
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    #[test]
    fn every_encoding_is_unpacked_however_it_is_chunked() {
        let text: Vec<u8> = (0..4000_u32).map(|n| b'a' + (n % 7) as u8).collect();
        for (made, named) in [("gzip", "gzip"), ("zlib", "deflate"), ("raw", "deflate")] {
            let bytes = packed(made, &text);
            for size in [1, 3, 1000] {
                assert_eq!(
                    read(named, &bytes, size),
                    (text.clone(), Taken::More),
                    "{made} in pieces of {size}"
                );
            }
        }
        assert_eq!(read("", &text, 7).0, text);
        assert!(BodyReader::new("br", LIMIT).is_none());
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bomb = packed("gzip", &vec![0; 50_000_000]);
        let mut body = BodyReader::new("gzip", LIMIT).unwrap();
        assert_eq!(body.push(&bomb[..bomb.len().min(9000)]), Taken::Full);
        assert_eq!(body.finish().len(), LIMIT);
    }

    #[test]
    fn a_plain_body_stops_at_the_limit_and_garbage_is_seen() {
        let (bytes, last) = read("", &vec![b'x'; 3 * LIMIT], 4096);
        assert_eq!((bytes.len(), last), (LIMIT, Taken::Full));
        assert_eq!(read("gzip", b"this is not gzip at all", 5).1, Taken::Broken);
    }
}
