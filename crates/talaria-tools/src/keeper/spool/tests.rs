//! Every byte of a spool is read once, in order, or counted as skipped: for any interleaving of writes and reads.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;

const SMALL: SpoolLimits = SpoolLimits { segment: 7, head: 2, tail: 3 };

/// The byte at a position, so that a byte in the wrong place is seen.
fn byte_at(position: u64) -> u8 {
    u8::try_from(position % 251).unwrap()
}

fn bytes_from(position: u64, length: usize) -> Vec<u8> {
    (position..position + length as u64).map(byte_at).collect()
}

/// Checks a piece against what was written, and returns where the next one begins.
fn check(before: u64, piece: &SpoolPiece) -> u64 {
    let start = before + piece.skipped;
    assert_eq!(piece.bytes, bytes_from(start, piece.bytes.len()), "after {before}");
    start + piece.bytes.len() as u64
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    Read(usize),
    /// Another engine reads on where the last one was.
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1_usize..30).prop_map(Step::Write),
        4 => (1_usize..40).prop_map(Step::Read),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #[test]
    fn every_byte_is_read_once_for_any_interleaving(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SpoolWriter::new(folder.path(), SMALL);
        let mut reader = SpoolReader::new(folder.path(), SMALL, 0);
        let (mut position, mut skipped) = (0, 0);
        for step in steps.into_iter().chain([Step::Read(10_000), Step::Read(10_000), Step::Read(10_000)]) {
            match step {
                Step::Write(length) => writer.append(&bytes_from(writer.written(), length)).unwrap(),
                Step::Read(most) => {
                    let piece = reader.read(most).unwrap();
                    prop_assert!(piece.bytes.len() <= most);
                    skipped += piece.skipped;
                    position = check(position, &piece);
                    prop_assert_eq!(position, reader.position());
                }
                Step::Reopen => reader = SpoolReader::new(folder.path(), SMALL, reader.position()),
            }
        }
        prop_assert_eq!(position, writer.written(), "everything is accounted for");
        let kept = SMALL.segment * (SMALL.head + SMALL.tail);
        prop_assert!(skipped == 0 || writer.written() > kept, "nothing is dropped before the limit");
        let files = fs::read_dir(folder.path()).unwrap().count() as u64;
        prop_assert!(files <= SMALL.head + SMALL.tail, "{} segments", files);
    }
}

#[test]
fn the_beginning_and_the_end_of_a_flood_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = SpoolWriter::new(folder.path(), SMALL);
    writer.append(&bytes_from(0, 1000)).unwrap();
    let mut reader = SpoolReader::new(folder.path(), SMALL, 0);
    let head = reader.read(10_000).unwrap();
    assert_eq!((head.skipped, head.bytes.len()), (0, 14));
    let tail = reader.read(10_000).unwrap();
    assert_eq!(tail.bytes, bytes_from(1000 - tail.bytes.len() as u64, tail.bytes.len()));
    assert!(
        tail.bytes.len() > 14 && head.bytes.len() as u64 + tail.skipped + tail.bytes.len() as u64 == 1000
    );
    assert_eq!(reader.read(10_000).unwrap(), SpoolPiece::default());
}

#[test]
fn a_reader_beside_a_running_writer_misses_nothing_that_is_kept() {
    const TOTAL: u64 = 200_000;
    let folder = tempfile::tempdir().unwrap();
    let limits = SpoolLimits { segment: 4096, head: 2, tail: 4 };
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = SpoolWriter::new(folder.path(), limits);
            let mut length = 1;
            while writer.written() < TOTAL {
                length = length % 977 + 13;
                writer.append(&bytes_from(writer.written(), length)).unwrap();
            }
            is_done.store(true, Ordering::SeqCst);
        });
        let mut reader = SpoolReader::new(folder.path(), limits, 0);
        let mut position = 0;
        loop {
            let was_done = is_done.load(Ordering::SeqCst);
            let piece = reader.read(1000).unwrap();
            position = check(position, &piece);
            if was_done && piece == SpoolPiece::default() {
                break;
            }
        }
        assert!(position >= TOTAL);
    });
}
