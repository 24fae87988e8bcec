//! What a memory is and holds.

use crate::abi::{CLocation, CPlace, Info};
use crate::border::{Failed, Handle, c_text, code, give, with};
use counterpoint_engine::device::MediaPlace;
use counterpoint_engine::embed::{Kind, LinePlaces, Memory};
use counterpoint_engine::message::{LINE_BYTES, LineBytes};
use std::ffi::{c_char, c_int};
use std::{ptr, slice};

/// Fills `info`, whose field `size` the caller must have set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_get_info(memory: *mut Handle, info: *mut Info) -> c_int {
    // SAFETY: null or a memory; null or an info.
    code(unsafe { with(memory, |handle| give(info, || Ok(info_of(&mut handle.memory)))) })
}

fn info_of(memory: &mut Memory) -> Info {
    let [(reads, reads_max), (writes, writes_max), (counter_writebacks, counter_writebacks_max)] =
        Kind::ALL.map(|kind| memory.room(kind));
    let (events, event_digest) = memory.digest();
    let device = &memory.machine().device;
    Info {
        size: size_of::<Info>(),
        capacity: memory.capacity(),
        now: memory.now(),
        clock_period: device.interface_cycle_ps(),
        burst_cycles: device.burst_cycles,
        line_bytes: LINE_BYTES as u32,
        channels: device.channels,
        banks: memory.banks(),
        reads_max,
        writes_max,
        counter_writebacks_max,
        reads,
        writes,
        counter_writebacks,
        events,
        event_digest,
        ranks: device.ranks,
        banks_per_rank: device.banks_per_rank,
        power_failures: memory.power_failures(),
    }
}

/// The configuration in use, with all defaults and overrides, as a JSON document: design, variant, parts, machine,
/// seed. Valid until the next call of counterpoint_configuration with this memory; NULL on an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_configuration(memory: *mut Handle) -> *const c_char {
    // SAFETY: null or a memory.
    let text = unsafe {
        with(memory, |handle| {
            handle.configuration = c_text(&handle.memory.configuration());
            Ok(handle.configuration.as_ptr())
        })
    };
    text.unwrap_or(ptr::null())
}

/// Where the line at `address` and its counter block are on the media.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_locate(memory: *mut Handle, address: u64, location: *mut CLocation) -> c_int {
    // SAFETY: null or a memory; null or a location.
    code(unsafe {
        with(memory, |handle| {
            give(location, || {
                let LinePlaces { line, counter } = handle.memory.places(address)?;
                Ok(CLocation {
                    size: size_of::<CLocation>(),
                    line: place_of(line),
                    counter: counter.map_or_else(CPlace::default, place_of),
                    has_counter: u32::from(counter.is_some()),
                })
            })
        })
    })
}

fn place_of(place: MediaPlace) -> CPlace {
    let MediaPlace { channel, rank, bank, row, column } = place;
    CPlace { channel, rank, bank, column: column as u32, row }
}

/// The 64 bytes that a read of the line at `address` would find if it were sent now: those of the newest earlier write
/// of the line, persisted or not, including one sent at the same time. Takes no simulated time and changes nothing.
/// Zeros for machines with engine.bytes = false, which keep no bytes: the results of reads are then meaningless.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_peek(memory: *mut Handle, address: u64, bytes: *mut u8) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe {
        with(memory, |handle| {
            if bytes.is_null() {
                return Err(Failed::argument("bytes is a null pointer"));
            }
            let line = handle.memory.peek(address)?;
            // SAFETY: there is room for 64 bytes, of any alignment.
            bytes.cast::<LineBytes>().write(line);
            Ok(())
        })
    })
}

/// The same for `length` bytes at any `address`. Pages in which nothing was ever stored cost little.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_peek_range(
    memory: *mut Handle,
    address: u64,
    bytes: *mut u8,
    length: usize,
) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe {
        with(memory, |handle| {
            if length == 0 {
                return Ok(handle.memory.peek_range(address, &mut [])?);
            }
            if bytes.is_null() {
                return Err(Failed::argument("bytes is a null pointer"));
            }
            // Before the buffer becomes a slice: what does not fit into memory fits into no object either.
            handle.memory.check_range(address, length as u64)?;
            // SAFETY: there is room for `length` bytes; a slice has initialised ones.
            bytes.write_bytes(0, length);
            let buffer = slice::from_raw_parts_mut(bytes, length);
            Ok(handle.memory.peek_range(address, buffer)?)
        })
    })
}
