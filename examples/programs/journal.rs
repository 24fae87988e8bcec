//! The journal of `../ci/journal.c` in Rust, without crates: a record is durable before the count that includes it.
//!
//! ```text
//! journal POOL N        appends N records
//! journal POOL check    its recovery: whether all records that count are there
//! ```

use std::arch::x86_64::{_mm_clflush, _mm_sfence};
use std::error::Error;
use std::ffi::c_void;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const RECORDS: usize = 63;

/// A record, which has a line of its own.
#[repr(C, align(64))]
struct Record {
    number: AtomicU64,
    check: AtomicU64,
}

/// How many records there are.
#[repr(C, align(64))]
struct Count(AtomicU64);

/// What the file holds. Stores are atomic, so that the compiler neither joins nor moves them out of sight.
#[repr(C)]
struct Journal {
    count: Count,
    records: [Record; RECORDS],
}

/// Writes the line of an object back, and waits for it.
fn persist<T>(object: &T) {
    // SAFETY: every processor of this architecture has both, and a flush changes no value.
    unsafe {
        _mm_clflush(std::ptr::from_ref(object).cast());
        _mm_sfence();
    }
}

impl Journal {
    fn append(&self) {
        let at = self.count.0.load(Relaxed);
        let record = &self.records[at as usize];
        record.number.store(at * 7, Relaxed);
        record.check.store(!(at * 7), Relaxed);
        persist(record); // before it is counted
        self.count.0.store(at + 1, Relaxed);
        persist(&self.count);
    }

    fn is_full(&self) -> bool {
        self.count.0.load(Relaxed) as usize >= RECORDS
    }

    fn is_intact(&self) -> bool {
        let count = self.count.0.load(Relaxed) as usize;
        count <= RECORDS
            && (0_u64..)
                .zip(&self.records[..count])
                .all(|(at, record)| record.number.load(Relaxed) == at * 7 && record.check.load(Relaxed) == !(at * 7))
    }
}

/// `mmap` of the C library; the crates `libc` and `memmap2` have it, too.
mod system {
    use std::ffi::{c_int, c_void};

    pub const READ_AND_WRITE: c_int = 3;
    pub const SHARED: c_int = 1;

    unsafe extern "C" {
        pub fn mmap(
            address: *mut c_void,
            length: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
    }
}

fn open(path: &str) -> io::Result<&'static Journal> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.set_len(size_of::<Journal>() as u64)?;
    let (length, protection) = (size_of::<Journal>(), system::READ_AND_WRITE);
    // SAFETY: the file is open and as long as the mapping, which stays until the program ends.
    let mapped: *mut c_void =
        unsafe { system::mmap(std::ptr::null_mut(), length, protection, system::SHARED, file.as_raw_fd(), 0) };
    if mapped as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a mapping begins a page, and any bytes are a journal.
    Ok(unsafe { &*mapped.cast::<Journal>() })
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, pool, what] = arguments.as_slice() else { return Ok(ExitCode::from(2)) };
    let journal = open(pool)?;
    if what == "check" {
        return Ok(ExitCode::from(u8::from(!journal.is_intact())));
    }
    for _ in 0..what.parse::<u64>()? {
        if journal.is_full() {
            break;
        }
        journal.append();
    }
    Ok(ExitCode::SUCCESS)
}
