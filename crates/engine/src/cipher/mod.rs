//! One-time pads: from (line, major, minor) to the 64-byte pad of that line, which encrypts and decrypts the line by
//! exclusive-or. There is no timing here. AES is the RustCrypto crate's (AES-NI if the processor has it).

mod feedback;
mod key_schedule;
mod keys;
mod pad;

pub use feedback::FeedbackCipher;
pub use keys::{Key, Keys};
pub use pad::PadCipher;
