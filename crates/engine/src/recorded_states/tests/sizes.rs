//! Sizes of files: lines of their own, which the kernel stores to and makes durable.

use super::*;
use crate::trace::NO_SIZE;

/// Where the word lies that is the size of the program's file.
const SIZE_AT: u64 = 1 << 63;
/// That file is the second one, after the first one's pages.
const LINE_OF_SIZE: u64 = 0x1_0000 / 64;

impl Program {
    /// With the size of the file, which is 100 bytes at first.
    fn sized() -> Self {
        let stream = Stream::with_file().file(1, b"size:/pool").map(SIZE_AT, 64, 1, 0);
        Self(stream.image(1, 0, &100u64.to_le_bytes()))
    }

    fn resize(self, at: u64, size: u64) -> Self {
        Self(self.0.store(0x19, 0, at, SIZE_AT, &size.to_le_bytes()))
    }

    fn sync_size(self, at: u64, at_once: bool) -> Self {
        let synced = self.0.kernel_flush(at, SIZE_AT, 1, u64::from(at_once));
        Self(if at_once { synced } else { synced.fence(0x17, 0, at) })
    }
}

/// The sizes that the file may have at each crash point, with the text of its first line.
fn sizes(program: Program) -> Vec<BTreeSet<(u64, u8)>> {
    let of = |image: &Image| {
        let size = image
            .iter()
            .find(|(line, _)| **line >= LINE_OF_SIZE)
            .map_or(100, |(_, bytes)| u64::from_le_bytes(bytes[..8].try_into().unwrap()));
        (size, image.get(&0).map_or(0, |line| line[0]))
    };
    states(program.trace(), Extent::Whole, u64::MAX).iter().map(|point| point.images.iter().map(of).collect()).collect()
}

#[test]
fn file_has_one_of_its_sizes_since_it_was_synced() {
    let grown = Program::sized().resize(1, 200).resize(2, 300).sync_size(3, false).store(4, 0, "a");
    let found = sizes(grown.clwb(5, 0).sfence(6).resize(7, NO_SIZE));
    assert_eq!(found[0], BTreeSet::from([(100, 0), (200, 0), (300, 0)]), "any of them before the fence of the sync");
    assert_eq!(found[1], BTreeSet::from([(300, 0), (300, b'a')]), "then the newest");
    assert_eq!(found[2], BTreeSet::from([(300, b'a'), (NO_SIZE, b'a')]), "or none, once it is removed");
}

/// A size that the kernel makes durable before anything else needs no fence.
#[test]
fn size_that_is_durable_at_once_is_never_lost_later() {
    let found = sizes(Program::sized().resize(1, 200).sync_size(2, true).store(3, 0, "a"));
    assert_eq!(found, [BTreeSet::from([(100, 0), (200, 0)]), BTreeSet::from([(200, 0), (200, b'a')])]);
}
