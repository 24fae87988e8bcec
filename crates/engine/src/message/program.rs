//! What a program tells the other stages about itself: where its memory is, its initial contents, and how it recovers.

use super::{CoreId, GroupMask, LINE_BYTES, LINES_PER_PAGE, Line, LineBytes, Page, ScannedLog};
use std::ops::Range;

/// Which form of a workload a design runs.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Debug,
    Default,
    serde::Serialize,
    serde::Deserialize,
    strum::VariantArray,
    strum::IntoStaticStr,
    schemars::JsonSchema,
    strum::EnumProperty,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ProgramForm {
    /// Stores, flushes and fences as on unencrypted memory.
    #[default]
    #[strum(props(paper = "secpm, section 2.1"))]
    Plain,
    /// Like plain, with `CounterAtomic` variables and `counter_cache_writeback`.
    #[strum(props(paper = "counter-atomicity, section 4.3, Figure 9"))]
    Annotated,
    /// Stores in place between `tx_begin` and `tx_end`, and `flush_data` of the changed data. Hardware keeps the log.
    #[strum(props(paper = "easy-pm, section III-A"))]
    HardwareLogged,
    /// Without flushes but with fences: for caches in the persistence domain ("we remove the CLWB, CLFLUSHOPT, and
    /// CLFLUSH instructions").
    #[strum(props(paper = "sepencr, section II-D"))]
    FlushFree,
}

/// One annotation of a transaction: code of one form of the program that the programmer must add, and may forget.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Annotation {
    /// `counter_cache_writeback` of what Prepare wrote: the log entry, or the new node of a linked list.
    PrepareCounterCacheWriteback,
    /// `counter_cache_writeback` of the data that Mutate wrote in place.
    MutateCounterCacheWriteback,
    /// The variable that commits is `CounterAtomic`: the log entry's valid word, or the list's head pointer.
    CommitCounterAtomic,
    /// `flush_data` of what a hardware-logged transaction changed (easy-pm section III-A).
    FlushData,
}

impl Annotation {
    /// All annotations, form by form, in program order.
    pub const ALL: [Annotation; 4] = [
        Annotation::PrepareCounterCacheWriteback,
        Annotation::MutateCounterCacheWriteback,
        Annotation::CommitCounterAtomic,
        Annotation::FlushData,
    ];

    /// The annotations of programs in `form`, in program order.
    pub fn of(form: ProgramForm) -> impl Iterator<Item = Annotation> {
        Self::ALL.into_iter().filter(move |annotation| annotation.form() == form)
    }

    /// The form of the programs that have this annotation.
    pub fn form(self) -> ProgramForm {
        match self {
            Annotation::PrepareCounterCacheWriteback
            | Annotation::MutateCounterCacheWriteback
            | Annotation::CommitCounterAtomic => ProgramForm::Annotated,
            Annotation::FlushData => ProgramForm::HardwareLogged,
        }
    }

    /// The annotation's name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Annotation::PrepareCounterCacheWriteback => "prepare-counter-cache-writeback",
            Annotation::MutateCounterCacheWriteback => "mutate-counter-cache-writeback",
            Annotation::CommitCounterAtomic => "commit-counter-atomic",
            Annotation::FlushData => "flush-data",
        }
    }
}

/// The populated memory that a run starts from: plaintext, shared between designs and never modified.
pub trait BaseImage: Send + Sync {
    /// The populated bytes of `line`, or `None` if the line was not populated.
    fn line(&self, line: Line) -> Option<&LineBytes>;
    /// Whether `line` was populated: the same answer as [`BaseImage::line`], without reading the bytes.
    fn populated(&self, line: Line) -> bool;
    /// Which of 1 to 64 neighbouring lines were populated: bit `i` is set if the one with number `lines.start + i` was. The
    /// default asks line by line.
    fn populated_mask(&self, lines: Range<u64>) -> u64 {
        let populated = lines.clone().filter(|&line| self.populated(Line(line)));
        populated.fold(0, |mask, line| mask | 1 << (line - lines.start))
    }
    /// All populated lines, by number, ascending and disjoint. The default asks line by line.
    fn populated_lines(&self) -> Vec<Range<u64>> {
        ranges((0..self.end().div_ceil(LINE_BYTES)).filter(|&line| self.populated(Line(line))))
    }
    /// One past the highest byte address the program may use.
    fn end(&self) -> u64;
}

/// [`BaseImage::populated_mask`] of the `lines` if the `ranges`, which are ascending, were populated.
pub fn mask_from_ranges(lines: Range<u64>, ranges: impl Iterator<Item = Range<u64>>) -> u64 {
    let overlapping = ranges.take_while(|range| range.start < lines.end).filter(|range| range.end > lines.start);
    overlapping.fold(0, |mask, range| {
        let (start, end) = (range.start.max(lines.start), range.end.min(lines.end));
        mask | lowest_bits(end - start) << (start - lines.start)
    })
}

/// [`BaseImage::populated_mask`] of the `lines`, from that of each page.
pub fn mask_from_pages(lines: Range<u64>, page: impl Fn(Page) -> u64) -> u64 {
    let (first, skipped) = (Line(lines.start).page(), lines.start % LINES_PER_PAGE);
    let next = if skipped == 0 { 0 } else { page(Page(first.0 + 1)) << (LINES_PER_PAGE - skipped) };
    (page(first) >> skipped | next) & lowest_bits(lines.end - lines.start)
}

/// Which lines of a counter block were populated, its `lines` being 1 to 128, by the [`BaseImage::populated_mask`] of 1 to 64.
pub fn group_mask(lines: Range<u64>, mask: impl Fn(Range<u64>) -> u64) -> GroupMask {
    let middle = lines.start + u64::from(u64::BITS);
    if lines.end <= middle {
        return mask(lines).into();
    }
    GroupMask::from(mask(lines.start..middle)) | GroupMask::from(mask(middle..lines.end)) << u64::BITS
}

/// A word in which the lowest `count` bits are set, from 1 to 64.
fn lowest_bits(count: u64) -> u64 {
    u64::MAX >> (64 - count)
}

/// [`BaseImage::populated_lines`] from that mask of each page, with its number, in any order.
pub fn ranges_from_pages(pages: impl Iterator<Item = (u64, u64)>) -> Vec<Range<u64>> {
    let mut pages: Vec<_> = pages.collect();
    pages.sort_unstable_by_key(|(number, _)| *number);
    ranges(pages.into_iter().flat_map(|(number, mask)| {
        let lines = (0..LINES_PER_PAGE).filter(move |index| mask >> index & 1 == 1);
        lines.map(move |index| number * LINES_PER_PAGE + index)
    }))
}

/// The ranges of the ascending numbers `lines`.
pub fn ranges(lines: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some(last) if last.end == line => last.end += 1,
            _ => ranges.push(line..line + 1),
        }
    }
    ranges
}

/// Byte-wise access to a view of memory: the program's own, or what a recovery decrypts.
pub trait ByteView {
    /// Fills `buffer` from `address`; never-written bytes read as zero.
    fn read(&mut self, address: u64, buffer: &mut [u8]);
    /// Writes `data` at `address`.
    fn write(&mut self, address: u64, data: &[u8]);

    /// The little-endian word at `address`.
    fn read_u64(&mut self, address: u64) -> u64 {
        let mut word = [0; 8];
        self.read(address, &mut word);
        u64::from_le_bytes(word)
    }
    /// Writes the little-endian word `value` at `address`.
    fn write_u64(&mut self, address: u64, value: u64) {
        self.write(address, &value.to_le_bytes());
    }
}

/// Splits `length` bytes from `address` by line: the line, the offset in it, and the range of the bytes.
pub fn pieces(address: u64, length: usize) -> impl Iterator<Item = (Line, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < length).then(|| {
            let at = address + done as u64;
            let offset = (at % 64) as usize;
            let piece = done..done + (length - done).min(64 - offset);
            done = piece.end;
            (Line::containing(at), offset, piece)
        })
    })
}

/// Where one core's program keeps its data, in byte addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLayout {
    /// The core that runs the program.
    pub core: CoreId,
    /// The undo-log ring; empty for a program without a log.
    pub log: Range<u64>,
    /// Everything else that the program may write and that must survive.
    pub heap: Range<u64>,
    /// What the program may write and needs no more after a power failure. It must stay secret like the rest.
    pub volatile: Range<u64>,
}

/// What a log recovery found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Complete entries of unfinished transactions, which were undone.
    pub undone: u32,
    /// Incomplete entries, which were skipped.
    pub abandoned: u32,
    /// Bytes restored.
    pub bytes_restored: u64,
}

/// A program's own recovery and self-check, on the memory that a boot presents. One object serves all cores.
pub trait ProgramRecovery: Send + Sync {
    /// The memory layout of each core's program, by core.
    fn layouts(&self) -> &[ProgramLayout];
    /// Scans the log of `core` and undoes unfinished transactions.
    fn recover(&self, core: CoreId, view: &mut dyn ByteView) -> RecoveryReport;
    /// What a recovery of `core` may remember when it is repeated, before it has read anything. The default is that it
    /// remembers nothing.
    fn scan(&self, _core: CoreId) -> Option<Box<dyn ScannedLog>> {
        None
    }
    /// Walks the whole structure of `core`.
    ///
    /// # Errors
    /// Says which invariant is broken and where.
    fn check(&self, core: CoreId, view: &mut dyn ByteView) -> Result<(), String>;
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Memory of which these lines were populated.
    pub struct Populated(pub BTreeSet<u64>);

    impl BaseImage for Populated {
        fn line(&self, line: Line) -> Option<&LineBytes> {
            self.populated(line).then_some(&[7; 64])
        }
        fn populated(&self, line: Line) -> bool {
            self.0.contains(&line.0)
        }
        fn end(&self) -> u64 {
            self.0.last().map_or(0, |line| (line + 1) * 64)
        }
    }

    proptest! {
        #[test]
        fn masks_are_the_same_from_lines_ranges_and_pages(
            parts in prop::collection::vec((0..300u64, 1..100u64), 0..6), start in 0..250u64, count in 1..=64u64,
        ) {
            let populated = Populated(parts.iter().flat_map(|(first, length)| *first..first + length).collect());
            let lines = start..start + count;
            let by_line = populated.populated_mask(lines.clone());
            for (place, line) in lines.clone().enumerate() {
                prop_assert_eq!(by_line >> place & 1 == 1, populated.0.contains(&line));
            }
            prop_assert_eq!(by_line & !lowest_bits(count), 0);
            let all = ranges(populated.0.iter().copied());
            prop_assert_eq!(mask_from_ranges(lines.clone(), all.iter().cloned()), by_line);
            let of_page = |page: Page| {
                let first = page.0 * LINES_PER_PAGE;
                populated.populated_mask(first..first + LINES_PER_PAGE)
            };
            prop_assert_eq!(mask_from_pages(lines, of_page), by_line);
            let pages = (0..7).rev().map(|number| (number, of_page(Page(number))));
            prop_assert_eq!(ranges_from_pages(pages), all);
        }
    }
}
