//! The functions of `counterpoint.h`, which documents the requirements on their pointers.
#![allow(clippy::missing_safety_doc, reason = "the header is the contract: every pointer is null or as it says")]

use crate::abi::{COUNTER_ATOMIC, Config, Info, NEVER};
use crate::border::{Failed, Handle, c_text, code, guarded, last_error, resting, text, with};
use counterpoint_engine::config::Variant;
use counterpoint_engine::embed::{Answer, Kind, Memory, Request, Setup};
use counterpoint_engine::message::{LINE_BYTES, LineBytes};
use std::ffi::{CString, c_char, c_int, c_uint};
use std::ptr;

const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::CounterWriteback];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_create(config: *const Config) -> *mut Handle {
    let created = guarded(|| {
        // SAFETY: null or a configuration, by the header; `size` is its first field.
        let size =
            unsafe { config.cast::<usize>().as_ref() }.ok_or_else(|| Failed::argument("config is a null pointer"))?;
        if *size != size_of::<Config>() {
            return Err(Failed::argument(format!(
                "config.size = {size} is not {}: header and library are of different versions",
                size_of::<Config>()
            )));
        }
        // SAFETY: it has the size that it should have.
        let calls = unsafe { *config };
        // SAFETY: its texts are null or texts.
        let memory = unsafe { memory_of(&calls) }?;
        Ok(Box::new(Handle { memory, calls, statistics: CString::default(), advancing: false, broken: false }))
    });
    created.map_or(ptr::null_mut(), Box::into_raw)
}

/// # Safety
///
/// The pointers of `config` are as the header says.
unsafe fn memory_of(config: &Config) -> Result<Memory, Failed> {
    // SAFETY: promised by the caller.
    let read = |pointer, name| unsafe { text(pointer, name) };
    let design =
        read(config.design, "config.design")?.ok_or_else(|| Failed::argument("config.design is a null pointer"))?;
    let variant = match read(config.variant, "config.variant")? {
        None => Variant::Hardened,
        Some(name) => Variant::from_name(name)
            .ok_or_else(|| Failed::argument(format!("variant '{name}' does not exist: published or hardened")))?,
    };
    if config.set.is_null() && config.set_count > 0 {
        return Err(Failed::argument("config.set is a null pointer"));
    }
    let set: Result<Vec<String>, Failed> = (0..config.set_count)
        .map(|index| {
            // SAFETY: there are `set_count` of them, and it is not null.
            let pointer = unsafe { *config.set.add(index) };
            let text = read(pointer, "config.set")?
                .ok_or_else(|| Failed::argument(format!("config.set[{index}] is a null pointer")))?;
            Ok(text.to_owned())
        })
        .collect();
    let machine = read(config.machine, "config.machine")?;
    Memory::new(&Setup { design, variant, machine, set: &set?, seed: config.seed })
        .map_err(|error| Failed::argument(error.to_string()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_destroy(memory: *mut Handle) {
    // SAFETY: null or a memory. A call-back that destroys its own memory is refused.
    if memory.is_null() || unsafe { (*memory).advancing } {
        return;
    }
    let _ = guarded(|| {
        // SAFETY: it comes from `Box::into_raw` and is used no more.
        drop(unsafe { Box::from_raw(memory) });
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_load(
    memory: *mut Handle,
    address: u64,
    bytes: *const u8,
    length: usize,
) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe {
        with(memory, |handle| {
            resting(handle, "load")?;
            if length == 0 {
                return Ok(());
            }
            if bytes.is_null() {
                return Err(Failed::argument("bytes is a null pointer"));
            }
            // SAFETY: `length` bytes lie there, and no object is longer than `isize::MAX`.
            let bytes = match isize::try_from(length) {
                Ok(_) => std::slice::from_raw_parts(bytes, length),
                Err(_) => return Err(Failed::argument(format!("length = {length} is longer than any object"))),
            };
            Ok(handle.memory.load(address, bytes)?)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_can_accept(memory: *mut Handle, kind: c_int) -> c_int {
    let known = usize::try_from(kind).ok().and_then(|kind| KINDS.get(kind).copied());
    // SAFETY: null or a memory.
    let answer = unsafe {
        with(memory, |handle| {
            let kind = known.ok_or_else(|| Failed::argument(format!("kind = {kind} is not from 0 to 2")))?;
            Ok(handle.memory.can_accept(kind))
        })
    };
    answer.map_or_else(|code| code, c_int::from)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_send_read(memory: *mut Handle, address: u64, id: u64) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe { with(memory, |handle| Ok(handle.memory.send(address, id, Request::Read)?)) })
}

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
            if flags & !COUNTER_ATOMIC != 0 {
                return Err(Failed::argument(format!("flags = {flags:#x} has bits without a meaning")));
            }
            // SAFETY: null or 64 bytes, of any alignment.
            let bytes =
                bytes.cast::<LineBytes>().as_ref().ok_or_else(|| Failed::argument("bytes is a null pointer"))?;
            let counter_atomic = flags & COUNTER_ATOMIC != 0;
            Ok(handle.memory.send(address, id, Request::Write { bytes, counter_atomic })?)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_send_counter_writeback(memory: *mut Handle, address: u64, id: u64) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe { with(memory, |handle| Ok(handle.memory.send(address, id, Request::CounterWriteback)?)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_next_event_time(memory: *mut Handle) -> u64 {
    // SAFETY: null or a memory.
    unsafe { with(memory, |handle| Ok(handle.memory.next_event_at())) }.ok().flatten().unwrap_or(NEVER)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_advance(memory: *mut Handle, time: u64) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe { advance(memory, |_| time) })
}

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
    let Answer { id, address, at, kind, ref bytes } = *answer;
    let persisted = match kind {
        Kind::Read => {
            if let Some(read_done) = calls.read_done {
                // SAFETY: the caller's function, with what the header says it gets.
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_get_info(memory: *mut Handle, info: *mut Info) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe {
        with(memory, |handle| {
            // SAFETY: null or an info, of which the caller has set the first field.
            let size = *info.cast::<usize>().as_ref().ok_or_else(|| Failed::argument("info is a null pointer"))?;
            if size != size_of::<Info>() {
                return Err(Failed::argument(format!(
                    "info.size = {size} is not {}: header and library are of different versions",
                    size_of::<Info>()
                )));
            }
            info.write(info_of(&mut handle.memory));
            Ok(())
        })
    })
}

fn info_of(memory: &mut Memory) -> Info {
    let [(reads, reads_max), (writes, writes_max), (counter_writebacks, counter_writebacks_max)] =
        KINDS.map(|kind| memory.room(kind));
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
        banks: device.channels * device.ranks * device.banks_per_rank,
        reads_max,
        writes_max,
        counter_writebacks_max,
        reads,
        writes,
        counter_writebacks,
        events,
        event_digest,
    }
}

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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_crash(memory: *mut Handle) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe {
        with(memory, |handle| {
            resting(handle, "crash")?;
            handle.memory.power_fails()?;
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_statistics(memory: *mut Handle) -> *const c_char {
    // SAFETY: null or a memory.
    let text = unsafe {
        with(memory, |handle| {
            handle.statistics = c_text(&handle.memory.report().to_json());
            Ok(handle.statistics.as_ptr())
        })
    };
    text.unwrap_or(ptr::null())
}

#[unsafe(no_mangle)]
pub extern "C" fn counterpoint_last_error() -> *const c_char {
    last_error()
}
