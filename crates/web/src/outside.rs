//! What the page is told while a call runs.

#[cfg(target_family = "wasm")]
mod page {
    #[link(wasm_import_module = "counterpoint")]
    unsafe extern "C" {
        /// How much is done, and of how much.
        pub safe fn progress(done: f64, total: f64);
        /// The engine has failed, and cannot be called again: a text in UTF-8.
        pub fn panicked(text: *const u8, bytes: usize);
    }
}

/// Tells the page how much is done, and of how much.
#[cfg(target_family = "wasm")]
pub fn progress(done: u64, total: u64) {
    page::progress(done as f64, total as f64);
}

/// There is no page.
#[cfg(not(target_family = "wasm"))]
pub fn progress(_: u64, _: u64) {}

/// From now on, the page is told why the engine has failed.
#[cfg(target_family = "wasm")]
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        // SAFETY: the page reads these bytes during the call.
        unsafe { page::panicked(text.as_ptr(), text.len()) };
    }));
}

/// There is no page.
#[cfg(not(target_family = "wasm"))]
pub fn tell_panics() {}
