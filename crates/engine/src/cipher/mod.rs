//! Pads over bytes. (line, major, minor) goes in, the 64-byte one-time pad of that line comes out; a line is
//! encrypted and decrypted by exclusive-or with it. There is no time in here, and AES itself is the RustCrypto
//! crate's (AES-NI where the processor has it).

mod feedback;
mod key_schedule;
mod keys;
mod pad;

pub use feedback::FeedbackCipher;
pub use keys::{Key, Keys};
pub use pad::PadCipher;
