//! Power failures.

use crate::abi::CPowerFailure;
use crate::border::{Failed, Handle, code, give, resting, with};
use counterpoint_engine::embed::PowerFailure;
use std::ffi::c_int;

/// Whether power can fail: 1, 0 or an error. counterpoint_last_error says why not: the design drains caches, which belong to
/// the caller (the eadr family, bbe, sepencr, their trees, horus, secpb), or writes that are not encrypted yet (dolos), or the machine
/// has engine.bytes = false.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_can_crash(memory: *mut Handle) -> c_int {
    // SAFETY: null or a memory.
    let answer = unsafe {
        with(memory, |handle| {
            let cannot = handle.memory.survives_nothing();
            if let Some(why) = &cannot {
                Failed::state(why.as_str()).keep();
            }
            Ok(cannot.is_none())
        })
    };
    answer.map_or_else(|code| code, c_int::from)
}

/// Fails power now and restarts. Requests in flight are lost and never answered; the persistence domain drains to the
/// media; the machine boots with the design's own recovery, which takes no simulated time; then reads find what has
/// survived, decrypted as that machine decrypts it: garbage if line and counter do not belong together. Time continues,
/// statistics start from zero: take them before. An error where counterpoint_can_crash returns 0.
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

/// What the last power failure caused; COUNTERPOINT_ERROR_STATE if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_get_power_failure(memory: *mut Handle, failure: *mut CPowerFailure) -> c_int {
    // SAFETY: null or a memory; null or a failure.
    code(unsafe {
        with(memory, |handle| {
            give(failure, || {
                let last = handle.memory.last_power_failure();
                last.map(failure_of).ok_or_else(|| Failed::state("power has not failed"))
            })
        })
    })
}

fn failure_of(failure: &PowerFailure) -> CPowerFailure {
    let PowerFailure { boot, ref refused, .. } = *failure;
    CPowerFailure {
        size: size_of::<CPowerFailure>(),
        time: failure.at_ps,
        reads_lost: failure.reads_lost,
        writes_lost: failure.writes_lost,
        counter_writebacks_lost: failure.counter_writebacks_lost,
        drained: failure.drained,
        boot_reads: boot.reads.total(),
        boot_writes: boot.writes.total(),
        boot_pads: boot.pads,
        boot_macs: boot.macs,
        boot_hashes: boot.hashes,
        damaged_lines: failure.damaged_lines,
        refused: u32::from(refused.is_some()),
    }
}

/// Writes the addresses of damaged lines (COUNTERPOINT_DAMAGED), in ascending order and at most `room` of them, to
/// `addresses`, which may be NULL if `room` is 0. `count` is set to the number of all damaged lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_get_damaged(
    memory: *mut Handle,
    addresses: *mut u64,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: null or a memory; there is room for so many addresses, and for the count.
    code(unsafe {
        with(memory, |handle| {
            let count = count.as_mut().ok_or_else(|| Failed::argument("count is a null pointer"))?;
            if addresses.is_null() && room > 0 {
                return Err(Failed::argument("addresses is a null pointer"));
            }
            let damaged = handle.memory.damaged_lines();
            *count = damaged.len();
            for (index, address) in damaged.into_iter().take(room).enumerate() {
                addresses.add(index).write(address);
            }
            Ok(())
        })
    })
}
