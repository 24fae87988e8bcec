//! The memory that a recorded program starts from: the contents of its files when they were first mapped. Only pages
//! with content need memory.

use super::recording::{Expected, Populated};
use super::summary::TraceFile;
use crate::message::{
    BaseImage, LINE_BYTES, LINES_PER_PAGE, Line, LineBytes, PAGE_BYTES, mask_from_pages, ranges_from_pages,
};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// The most pages with content: 4 GiB. A small recording can name more memory than the host has.
const PAGES_MAX: usize = 1 << 20;

/// A page and which of its lines have content.
struct Page {
    lines: [LineBytes; LINES_PER_PAGE as usize],
    populated: u64,
}

const _: () = assert!(LINES_PER_PAGE == u64::BITS as u64, "a bit for each line");

/// The contents of files, by file number and page, before they have places on the device.
#[derive(Default)]
pub(super) struct Images {
    pages: FxHashMap<(usize, u64), Box<Page>>,
}

impl Images {
    /// Takes the contents of a file. Later contents of the same bytes replace earlier ones.
    pub fn take(&mut self, populated: Populated<'_>) -> Result<(), Expected> {
        let Populated { file, offset, bytes } = populated;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let within = (at % LINE_BYTES) as usize;
            let length = (bytes.len() - done).min(LINE_BYTES as usize - within);
            let key = (file, at / PAGE_BYTES);
            if self.pages.len() >= PAGES_MAX && !self.pages.contains_key(&key) {
                return Err(Expected("images of at most 2^20 pages of 4096 bytes"));
            }
            let page = self.pages.entry(key).or_insert_with(|| Box::new(Page { lines: [[0; 64]; 64], populated: 0 }));
            let line = (at % PAGE_BYTES / LINE_BYTES) as usize;
            page.lines[line][within..within + length].copy_from_slice(&bytes[done..done + length]);
            page.populated |= 1 << line;
            done += length;
        }
        Ok(())
    }

    /// Places the pages at the device addresses of `files`.
    pub fn place(self, files: &[TraceFile]) -> Pages {
        let place = |((file, page), content): ((usize, u64), _)| (files[file].base / PAGE_BYTES + page, content);
        Pages(Arc::new(self.pages.into_iter().map(place).collect()))
    }
}

/// Pages with content, by their number on the device.
#[derive(Clone)]
pub(super) struct Pages(Arc<FxHashMap<u64, Box<Page>>>);

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} pages", self.0.len())
    }
}

/// The memory that a recorded program starts from. Lines without content in any file were never written.
#[derive(Clone, Debug)]
pub struct TraceBase {
    pub(super) pages: Pages,
    pub(super) end: u64,
}

impl TraceBase {
    /// Calls `show` for each page with content, with its first byte address, in no particular order.
    pub fn show_pages(&self, show: &mut dyn FnMut(u64, &[u8])) {
        for (number, page) in self.pages.0.iter() {
            show(number * PAGE_BYTES, page.lines.as_flattened());
        }
    }
}

impl BaseImage for TraceBase {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        let page = self.pages.0.get(&(line.0 / LINES_PER_PAGE))?;
        let index = line.0 % LINES_PER_PAGE;
        (page.populated >> index & 1 == 1).then(|| &page.lines[index as usize])
    }
    fn populated(&self, line: Line) -> bool {
        self.line(line).is_some()
    }
    fn populated_mask(&self, lines: Range<u64>) -> u64 {
        mask_from_pages(lines, |page| self.pages.0.get(&page.0).map_or(0, |page| page.populated))
    }
    fn populated_lines(&self) -> Vec<Range<u64>> {
        ranges_from_pages(self.pages.0.iter().map(|(number, page)| (*number, page.populated)))
    }
    fn end(&self) -> u64 {
        self.end
    }
}

/// The memory that several instances of a recorded program start from, one after the other, each from a page of its own on.
#[derive(Clone, Debug)]
pub(super) struct InstancesBase {
    pub(super) one: TraceBase,
    pub(super) instances: u16,
    /// Bytes that each has of other memory, which is behind the files of all.
    pub(super) others: u64,
}

impl InstancesBase {
    /// Where the second instance begins.
    pub fn stride(&self) -> u64 {
        self.one.end.next_multiple_of(PAGE_BYTES)
    }

    /// One past the files of all.
    pub fn files_end(&self) -> u64 {
        self.stride() * u64::from(self.instances - 1) + self.one.end
    }

    /// Where other memory begins.
    pub fn others_begin(&self) -> u64 {
        self.files_end().next_multiple_of(PAGE_BYTES)
    }

    /// The line of the one instance that `line` is a line of.
    fn of_one(&self, line: Line) -> Option<Line> {
        let lines = self.stride() / LINE_BYTES;
        (lines > 0 && line.0 / lines < u64::from(self.instances)).then(|| Line(line.0 % lines))
    }
}

impl BaseImage for InstancesBase {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.one.line(self.of_one(line)?)
    }
    fn populated(&self, line: Line) -> bool {
        self.line(line).is_some()
    }
    fn populated_lines(&self) -> Vec<Range<u64>> {
        let (one, lines) = (self.one.populated_lines(), self.stride() / LINE_BYTES);
        let of =
            |instance: u64| one.iter().map(move |range| range.start + instance * lines..range.end + instance * lines);
        (0..u64::from(self.instances)).flat_map(of).collect()
    }
    fn end(&self) -> u64 {
        match self.others {
            0 => self.files_end(),
            size => self.others_begin() + size * u64::from(self.instances),
        }
    }
}

/// A memory in which nothing was populated.
#[derive(Clone, Copy, Debug)]
pub struct EmptyBase {
    /// One past the highest byte address the program may use.
    pub end: u64,
}

impl BaseImage for EmptyBase {
    fn line(&self, _line: Line) -> Option<&LineBytes> {
        None
    }
    fn populated(&self, _line: Line) -> bool {
        false
    }
    fn populated_lines(&self) -> Vec<Range<u64>> {
        Vec::new()
    }
    fn end(&self) -> u64 {
        self.end
    }
}
