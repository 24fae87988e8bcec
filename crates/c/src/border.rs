//! What every call does at the C boundary: null pointers, memories that are in use or broken, refusals and panics
//! become error codes and a sentence.

use crate::abi::{Config, ERROR_ARGUMENT, ERROR_FULL, ERROR_INTERNAL, ERROR_STATE, OK};
use counterpoint_engine::embed::{Memory, Refusal};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a `counterpoint *` points to.
pub struct Handle {
    pub memory: Memory,
    /// The configuration; only its call-backs and their context are used after creation.
    pub calls: Config,
    pub statistics: CString,
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
        Self(code, refusal.to_string())
    }
}

impl Failed {
    pub fn argument(why: impl Into<String>) -> Self {
        Self(ERROR_ARGUMENT, why.into())
    }

    pub fn state(why: impl Into<String>) -> Self {
        Self(ERROR_STATE, why.into())
    }

    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Self(ERROR_INTERNAL, format!("a bug of the library: {}", text.unwrap_or("a panic without a text")))
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

fn keep(Failed(code, why): Failed) -> c_int {
    LAST_ERROR.with_borrow_mut(|text| *text = c_text(&why));
    code
}

/// Runs `call`. An error is stored as this thread's last error, and its code is returned in `Err`.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, Failed>) -> Result<T, c_int> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(Failed::panicked(&*panic))).map_err(keep)
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
    fn a_panic_becomes_an_error() {
        let result: Result<(), c_int> = guarded(|| panic!("of {} kinds", 2));
        assert_eq!(result, Err(ERROR_INTERNAL));
        // SAFETY: the text lives until the next error of this thread.
        let text = unsafe { CStr::from_ptr(last_error()) }.to_str();
        assert_eq!(text, Ok("a bug of the library: of 2 kinds"));
    }
}
