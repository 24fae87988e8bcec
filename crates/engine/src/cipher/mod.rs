//! One-time pads, message authentication codes, and a cipher of lines without counters. A pad follows from (line, major,
//! minor); it encrypts and decrypts its line by exclusive-or. There is no timing here. AES and CMAC are the RustCrypto crates' (AES-NI if the processor has it).

mod feedback;
mod key_schedule;
mod mac;
mod mac_memo;
mod pad;
mod run_keys;
mod xts;

pub use feedback::FeedbackCipher;
pub use mac::{MAC_OFFSET, MacCipher};
pub use pad::PadCipher;
pub use run_keys::{Key, Keys};
pub use xts::XtsCipher;
