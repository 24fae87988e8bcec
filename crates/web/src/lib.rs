//! The engine as WebAssembly, for a page that asks no server: a request comes in as JSON, and an answer goes out as JSON.
//!
//! ```text
//! page -> allocate (room for a request), call -> calls::answered -> api of the engine -> text of the answer -> release
//! ```
//!
//! A call runs to its end; whoever wants to stop it ends the worker that it runs in. Nothing is decided here.

#![warn(missing_docs)]
#![allow(unsafe_code, reason = "a WebAssembly interface takes pointers; each unsafe function states what they must be")]

mod calls;
mod outside;

pub use calls::answered;

/// The bytes before a text in which its length is, in bytes and little-endian.
const LENGTH_BYTES: usize = 4;

/// Room for a request of this many bytes, to be filled and passed to [`counterpoint_call`].
#[unsafe(no_mangle)]
pub extern "C" fn counterpoint_allocate(bytes: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; bytes].into_boxed_slice()).cast()
}

/// Answers the request of this many bytes at `request`, and frees its room. The result is the length of the answer, 4 bytes,
/// and behind it the answer. [`counterpoint_release`] frees it.
///
/// # Safety
/// `request` and `bytes` are those of [`counterpoint_allocate`], passed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_call(request: *mut u8, bytes: usize) -> *mut u8 {
    outside::tell_panics();
    // SAFETY: `counterpoint_allocate` has made this box, and the caller passes it once.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(request, bytes)) };
    let answer = calls::answered(&String::from_utf8_lossy(&request), &outside::progress);
    let length = u32::try_from(answer.len()).expect("the memory of WebAssembly has 32 bits");
    let text = [&length.to_le_bytes()[..], answer.as_bytes()].concat();
    Box::into_raw(text.into_boxed_slice()).cast()
}

/// Frees an answer.
///
/// # Safety
/// `answer` comes from [`counterpoint_call`] and is passed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_release(answer: *mut u8) {
    let mut length = [0; LENGTH_BYTES];
    // SAFETY: an answer begins with its length; the box has these bytes and those of the text, and is freed once.
    unsafe {
        std::ptr::copy_nonoverlapping(answer, length.as_mut_ptr(), LENGTH_BYTES);
        let bytes = LENGTH_BYTES + u32::from_le_bytes(length) as usize;
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(answer, bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_crosses_the_border_and_its_answer_comes_back() {
        let request = br#"{"call": "design_file", "request": "secpm"}"#;
        let room = counterpoint_allocate(request.len());
        // SAFETY: the room has the length of the request; the answer has the length that it begins with.
        let answer: serde_json::Value = unsafe {
            std::ptr::copy_nonoverlapping(request.as_ptr(), room, request.len());
            let answer = counterpoint_call(room, request.len());
            let length = u32::from_le_bytes(*answer.cast::<[u8; LENGTH_BYTES]>()) as usize;
            let text = std::slice::from_raw_parts(answer.add(LENGTH_BYTES), length).to_vec();
            counterpoint_release(answer);
            serde_json::from_slice(&text).unwrap()
        };
        assert_eq!(answer["answer"].as_str(), counterpoint_engine::api::design_file("secpm"));
    }
}
