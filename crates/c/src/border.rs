//! What every call does at the C boundary: null pointers, memories that are in use or broken, refusals and panics
//! become error codes and a sentence.

use crate::abi::{Config, ERROR_ARGUMENT, ERROR_FULL, ERROR_INTERNAL, ERROR_STATE, Growing, OK};
use counterpoint_engine::config::without_long_list;
use counterpoint_engine::embed::{Memory, Refusal};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

/// A memory.
pub struct Handle {
    pub memory: Memory,
    /// The configuration; only its call-backs and their context are used after creation.
    pub calls: Config,
    pub statistics: CString,
    pub configuration: CString,
    /// Whether time is moving: a call-back may be running.
    pub advancing: bool,
    /// Whether the library has panicked during a call.
    pub broken: bool,
}

/// An error code and its sentence.
pub struct Failed(pub c_int, pub String);

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::Argument(_) => ERROR_ARGUMENT,
            Refusal::Full(_) => ERROR_FULL,
            Refusal::State(_) => ERROR_STATE,
        };
        Self(code, without_long_list(&refusal.to_string()))
    }
}

impl Failed {
    pub fn argument(why: impl Into<String>) -> Self {
        Self(ERROR_ARGUMENT, why.into())
    }

    pub fn state(why: impl Into<String>) -> Self {
        Self(ERROR_STATE, why.into())
    }

    /// Stores it as this thread's last error; returns its code.
    pub fn keep(self) -> c_int {
        LAST_ERROR.with_borrow_mut(|text| *text = c_text(&self.1));
        self.0
    }

    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Self(ERROR_INTERNAL, format!("a bug of the library: {}", text.unwrap_or("a panic without a text")))
    }
}

impl Handle {
    pub fn new(memory: Memory, calls: Config) -> Self {
        let (statistics, configuration) = Default::default();
        Self { memory, calls, statistics, configuration, advancing: false, broken: false }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// The sentence of this thread's last error.
pub fn last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|text| text.as_ptr())
}

/// `text` for C; C strings end at their first zero byte.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}

/// Runs `call`. An error is stored as this thread's last error, and its code is returned in `Err`.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, Failed>) -> Result<T, c_int> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(Failed::panicked(&*panic))).map_err(Failed::keep)
}

/// The error code of `result`; 0 if it is `Ok`.
pub fn code(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(OK)
}

/// Runs `call` like [`guarded`], with the memory that `handle` points to. A panic marks the memory as broken.
///
/// # Safety
///
/// `handle` is null or comes from `counterpoint_create`, has not been destroyed, and no other thread uses it.
pub unsafe fn with<T>(handle: *mut Handle, call: impl FnOnce(&mut Handle) -> Result<T, Failed>) -> Result<T, c_int> {
    let result = guarded(|| {
        // SAFETY: as promised by the caller; the reference ends before any call-back is called.
        let handle = unsafe { handle.as_mut() }.ok_or_else(|| Failed::argument("memory is a null pointer"))?;
        if handle.broken {
            return Err(Failed(ERROR_INTERNAL, "this memory has met a bug of the library before".into()));
        }
        call(handle)
    });
    if let (Err(ERROR_INTERNAL), false) = (&result, handle.is_null()) {
        // SAFETY: as above.
        unsafe { (*handle).broken = true };
    }
    result
}

/// Refuses what is not allowed in a call-back.
pub fn resting(handle: &Handle, what: &str) -> Result<(), Failed> {
    if handle.advancing { Err(Failed::state(format!("a call-back must not {what} its own memory"))) } else { Ok(()) }
}

/// The size that the caller has set in the structure at `pointer`.
///
/// # Safety
///
/// `pointer` is null, or its structure has `size` bytes.
unsafe fn size_of_callers<T: Growing>(pointer: *const T) -> Result<usize, Failed> {
    // SAFETY: the size is the first field.
    let size = unsafe { pointer.cast::<usize>().as_ref() };
    let size = *size.ok_or_else(|| Failed::argument(format!("{} is a null pointer", T::NAME)))?;
    if size < T::FIRST {
        return Err(Failed::argument(format!("the size of {} = {size} is less than {}", T::NAME, T::FIRST)));
    }
    Ok(size)
}

/// The caller's structure at `pointer`. Fields that an older header lacks are zero.
///
/// # Safety
///
/// `pointer` is null, or its structure has as many bytes as its first field says.
pub unsafe fn taken<T: Growing>(pointer: *const T) -> Result<T, Failed> {
    // SAFETY: promised by the caller.
    let size = unsafe { size_of_callers(pointer) }?;
    let ours = size_of::<T>();
    // SAFETY: `size` bytes are there; a newer header has fields after ours.
    let unknown = unsafe { slice::from_raw_parts(pointer.cast::<u8>().add(ours.min(size)), size - ours.min(size)) };
    if unknown.iter().any(|&byte| byte != 0) {
        return Err(Failed::argument(format!(
            "{} has {size} bytes and sets a field that this library, which knows {ours}, does not have",
            T::NAME
        )));
    }
    let mut taken = MaybeUninit::<T>::zeroed();
    // SAFETY: as many bytes as both have; zeros are a value of the other fields.
    unsafe {
        ptr::copy_nonoverlapping(pointer.cast::<u8>(), taken.as_mut_ptr().cast(), ours.min(size));
        Ok(taken.assume_init())
    }
}

/// Fills the caller's structure at `pointer` with `filled`, as far as it goes; its size stays.
///
/// # Safety
///
/// `pointer` is null, or its structure has as many bytes as its first field says, and may be written.
pub unsafe fn give<T: Growing>(pointer: *mut T, filled: impl FnOnce() -> Result<T, Failed>) -> Result<(), Failed> {
    // SAFETY: promised by the caller.
    let size = unsafe { size_of_callers(pointer) }?;
    let filled = filled()?;
    let first = size_of::<usize>();
    // SAFETY: neither structure is shorter than this.
    unsafe {
        let (from, to) = ((&raw const filled).cast::<u8>().add(first), pointer.cast::<u8>().add(first));
        ptr::copy_nonoverlapping(from, to, size.min(size_of::<T>()) - first);
    }
    Ok(())
}

/// `length` bytes at `bytes`, which may be null if there are none.
///
/// # Safety
///
/// `bytes` is null, or so many bytes lie there during `'a`.
pub unsafe fn bytes_at<'a>(bytes: *const u8, length: usize) -> Result<&'a [u8], Failed> {
    if length == 0 {
        return Ok(&[]);
    }
    match (bytes.is_null(), isize::try_from(length)) {
        (true, _) => Err(Failed::argument("bytes is a null pointer")),
        (false, Err(_)) => Err(Failed::argument(format!("length = {length} is longer than any object"))),
        // SAFETY: promised by the caller.
        (false, Ok(_)) => Ok(unsafe { slice::from_raw_parts(bytes, length) }),
    }
}

/// The text at `pointer`; `None` if it is null. `name` is its name in errors.
///
/// # Safety
///
/// `pointer` is null or points to a text that ends with a zero byte.
pub unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>, Failed> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as promised by the caller.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|_| Failed::argument(format!("{name} is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_becomes_an_error() {
        let result: Result<(), c_int> = guarded(|| panic!("of {} kinds", 2));
        assert_eq!(result, Err(ERROR_INTERNAL));
        // SAFETY: the text lives until the next error of this thread.
        let text = unsafe { CStr::from_ptr(last_error()) }.to_str();
        assert_eq!(text, Ok("a bug of the library: of 2 kinds"));
    }
}
