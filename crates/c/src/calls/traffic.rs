//! Requests, time, and answers.

use super::kind_of;
use crate::abi::{CAnswer, COUNTER_ATOMIC, CRequest, Config, DAMAGED, NEVER};
use crate::border::{Failed, Handle, code, resting, taken, with};
use counterpoint_engine::embed::{Answer, Kind, Memory, Request, WHOLE_LINE};
use counterpoint_engine::message::LineBytes;
use std::ffi::{c_int, c_uint};
use std::ptr;

/// Whether a request of `kind` would be accepted now: 1, 0 or an error. A read is in flight until its line is
/// decrypted, a write until it has persisted; each kind has its own limit (counterpoint_info).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_can_accept(memory: *mut Handle, kind: c_int) -> c_int {
    // SAFETY: null or a memory.
    let answer = unsafe { with(memory, |handle| Ok(handle.memory.can_accept(kind_of(kind)?))) };
    answer.map_or_else(|code| code, c_int::from)
}

/// The same for a request for the line at `address`, with the limits of its channel (counterpoint_config).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_can_accept_at(memory: *mut Handle, kind: c_int, address: u64) -> c_int {
    // SAFETY: null or a memory.
    let answer = unsafe { with(memory, |handle| Ok(handle.memory.can_accept_at(kind_of(kind)?, address)?)) };
    answer.map_or_else(|code| code, c_int::from)
}

/// Sends a read. read_done returns `id`; ids need not differ. The read finds the newest write of its line that was sent
/// before it, or a later one: while a read waits for page re-encryption, a write may overtake it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_send_read(memory: *mut Handle, address: u64, id: u64) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe { with(memory, |handle| Ok(handle.memory.send(address, id, 0, Request::Read)?)) })
}

/// Sends a write of 64 bytes. write_persisted returns `id`. A write-back of a cache and a clwb are both writes; a fence
/// must wait for write_persisted of the lines flushed before it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_send_write(
    memory: *mut Handle,
    address: u64,
    bytes: *const u8,
    id: u64,
    flags: c_uint,
) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe {
        with(memory, |handle| {
            // SAFETY: null or 64 bytes.
            let request = write(bytes, 0, flags)?;
            Ok(handle.memory.send(address, id, 0, request)?)
        })
    })
}

/// # Safety
///
/// `bytes` is null or points to 64 bytes, of any alignment.
unsafe fn write<'a>(bytes: *const u8, mask: u64, flags: u32) -> Result<Request<'a>, Failed> {
    if flags & !COUNTER_ATOMIC != 0 {
        return Err(Failed::argument(format!("flags = {flags:#x} has bits without a meaning")));
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { bytes.cast::<LineBytes>().as_ref() };
    let bytes = bytes.ok_or_else(|| Failed::argument("bytes is a null pointer"))?;
    let mask = if mask == 0 { WHOLE_LINE } else { mask };
    Ok(Request::Write { bytes, mask, counter_atomic: flags & COUNTER_ATOMIC != 0 })
}

/// Sends a counter_cache_writeback (counter-atomicity, section 4.3): makes the counters around the line at `address`
/// durable. counters_persisted returns `id`. For programs written for the designs sca and sca-tree; others do not need
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_send_counter_writeback(memory: *mut Handle, address: u64, id: u64) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe { with(memory, |handle| Ok(handle.memory.send(address, id, 0, Request::CounterWriteback)?)) })
}

/// Sends `request`, of any kind. A write with a mask is a write of the whole line, whose other bytes are those of the
/// newest write sent before it; the controller reads nothing for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_send(memory: *mut Handle, request: *const CRequest) -> c_int {
    // SAFETY: null or a memory; null or a request.
    code(unsafe {
        with(memory, |handle| {
            let CRequest { address, id, bytes, mask, kind, flags, requestor, .. } = taken(request)?;
            let request = match kind_of(c_int::try_from(kind).unwrap_or(c_int::MAX))? {
                Kind::Write => write(bytes, mask, flags)?,
                _ if mask != 0 || flags != 0 || !bytes.is_null() => {
                    return Err(Failed::argument("bytes, mask and flags are of writes only"));
                }
                Kind::Read => Request::Read,
                Kind::CounterWriteback => Request::CounterWriteback,
            };
            Ok(handle.memory.send(address, id, requestor, request)?)
        })
    })
}

/// The time of the next event, or COUNTERPOINT_NEVER if there is none; also for a null pointer. Advancing to that time
/// at once misses nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_next_event_time(memory: *mut Handle) -> u64 {
    // SAFETY: null or a memory.
    unsafe { with(memory, |handle| Ok(handle.memory.next_event_at())) }.ok().flatten().unwrap_or(NEVER)
}

/// Handles all events up to and including `time`, and moves time there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_advance(memory: *mut Handle, time: u64) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe { advance(memory, |_| time) })
}

/// Advances one cycle of the memory interface's clock, for simulators that have no event queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_tick(memory: *mut Handle) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe { advance(memory, |memory| memory.now() + memory.machine().device.interface_cycle_ps()) })
}

/// Advances to the time that `until` returns. The memory is not borrowed while call-backs run, so that they can send.
///
/// # Safety
///
/// `handle` is null or a memory.
unsafe fn advance(handle: *mut Handle, until: impl FnOnce(&Memory) -> u64) -> Result<(), c_int> {
    // SAFETY: null or a memory, here and below; the flag keeps call-backs from ending its life.
    let (until, calls) = unsafe {
        with(handle, |handle| {
            resting(handle, "advance")?;
            handle.advancing = true;
            Ok((until(&handle.memory), handle.calls))
        })
    }?;
    let mut answers = Vec::new();
    let result = loop {
        // SAFETY: as above.
        match unsafe { with(handle, |handle| Ok(handle.memory.step(until, &mut answers)?)) } {
            Ok(true) => answers.drain(..).for_each(|answer| tell(&calls, &answer)),
            Ok(false) => break Ok(()),
            Err(code) => break Err(code),
        }
    };
    // SAFETY: as above.
    unsafe { (*handle).advancing = false };
    result
}

fn tell(calls: &Config, answer: &Answer) {
    let Answer { id, requestor, address, sent, at, kind, damaged, ref bytes } = *answer;
    if let Some(answered) = calls.answered {
        let bytes = if kind == Kind::Read { bytes.as_ptr() } else { ptr::null() };
        let flags = if damaged { DAMAGED } else { 0 };
        let (size, kind) = (size_of::<CAnswer>(), kind as u32);
        let answer = CAnswer { size, id, address, sent, time: at, bytes, kind, flags, requestor };
        // SAFETY: the caller's function, with what the header says it gets.
        return unsafe { answered(calls.context, &raw const answer) };
    }
    let persisted = match kind {
        Kind::Read => {
            if let Some(read_done) = calls.read_done {
                // SAFETY: as above.
                unsafe { read_done(calls.context, id, address, bytes.as_ptr(), at) };
            }
            return;
        }
        Kind::Write => calls.write_persisted,
        Kind::CounterWriteback => calls.counters_persisted,
    };
    if let Some(persisted) = persisted {
        // SAFETY: as above.
        unsafe { persisted(calls.context, id, address, at) };
    }
}
