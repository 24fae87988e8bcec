//! Creation, copies, and what memory holds apart from requests.

use crate::abi::Config;
use crate::border::{Failed, Handle, bytes_at, code, guarded, resting, taken, text, with};
use counterpoint_engine::config::Variant;
use counterpoint_engine::embed::{Memory, Setup};
use std::ffi::{c_int, c_void};
use std::ptr;

/// Creates a memory in which every line reads as zeros; NULL on an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_create(config: *const Config) -> *mut Handle {
    let created = guarded(|| {
        // SAFETY: null or a configuration, by the header.
        let calls = unsafe { taken(config) }?;
        // SAFETY: its texts are null or texts.
        let memory = unsafe { memory_of(&calls) }?;
        Ok(Box::new(Handle::new(memory, calls)))
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
    let on_channel = [config.reads_on_channel, config.writes_on_channel].map(|limit| (limit > 0).then_some(limit));
    Memory::new(&Setup { design, variant, machine, set: &set?, seed: config.seed, on_channel })
        .map_err(|error| Failed::argument(error.to_string()))
}

/// Destroys `memory`. NULL is allowed.
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

/// Creates a copy that goes on from the same state, with the same call-backs and with `context`: many crashes from one
/// simulation. Requests in flight will be answered by both. Takes time and space for the lines that have been written;
/// NULL on an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_clone(memory: *mut Handle, context: *mut c_void) -> *mut Handle {
    // SAFETY: null or a memory.
    let copy = unsafe {
        with(memory, |handle| {
            let calls = Config { context, ..handle.calls };
            Ok(Box::new(Handle::new(handle.memory.clone(), calls)))
        })
    };
    copy.map_or(ptr::null_mut(), Box::into_raw)
}

/// Brings `memory` to the state of `snapshot`, a copy of it or of a memory with an equal configuration. It keeps its
/// own call-backs and its context; `snapshot` stays as it is. Time goes back, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_restore(memory: *mut Handle, snapshot: *mut Handle) -> c_int {
    // SAFETY: null or memories; the first reference ends before the second begins, in case they are the same.
    let copied = unsafe { with(snapshot, |handle| Ok((handle.memory.clone(), handle.memory.configuration()))) };
    code(copied.and_then(|(copy, configuration)| {
        // SAFETY: null or a memory.
        unsafe {
            with(memory, |handle| {
                resting(handle, "restore")?;
                if handle.memory.configuration() != configuration {
                    return Err(Failed::argument("the snapshot has another configuration"));
                }
                handle.memory = copy;
                Ok(())
            })
        }
    }))
}

/// Stores `length` bytes at any `address` before the first request and the first advance: the contents of memory when
/// the run begins, such as a program. Takes no simulated time. The rest of a partly loaded line is zero.
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
            Ok(handle.memory.load(address, bytes_at(bytes, length)?)?)
        })
    })
}

/// Stores `length` bytes at any `address` at any time, without simulated time: functional accesses, fast-forwarding,
/// virtual processors. Reads that are sent from now on find the bytes. They survive a power failure, as long as no
/// later write of the line has persisted. They count as no write. Without an effect if the machine has engine.bytes =
/// false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_store(
    memory: *mut Handle,
    address: u64,
    bytes: *const u8,
    length: usize,
) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe { with(memory, |handle| Ok(handle.memory.store(address, bytes_at(bytes, length)?)?)) })
}
