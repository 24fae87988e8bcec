//! Lines that wear levelling no longer finds after a power failure: what a boot reads in their places is put in place of what
//! they hold.

use crate::message::{Content, DrainedWrite, Found, LineBytes, MediaLine};
use crate::recovery::{LineCodec, Media, Memory};

/// What each of the `misread` lines reads as from now on, on `media` after `queued` has drained to them.
pub(super) fn found_instead(
    misread: &[(MediaLine, Found)],
    media: &dyn Media,
    queued: &[(MediaLine, LineBytes)],
    codec: Option<&dyn LineCodec>,
) -> Vec<DrainedWrite> {
    if misread.is_empty() {
        return Vec::new();
    }
    let mut memory = Memory::new(media);
    queued.iter().for_each(|(media, bytes)| memory.store(*media, bytes));
    let first =
        |line, plaintext: &LineBytes| codec.and_then(|codec| codec.first_ciphertext(line)).unwrap_or(*plaintext);
    let read = |found| match found {
        Found::Bytes(bytes) => bytes,
        Found::Blank => [0; 64],
        Found::First(line) => match media.content(MediaLine::data(line)) {
            Content::Base(plaintext) | Content::Stored(plaintext) => first(line, plaintext),
            Content::Never => [0; 64],
        },
        Found::Line(other) => match (memory.content(other), other.as_line()) {
            (Content::Stored(bytes), _) => *bytes,
            (Content::Base(plaintext), Some(line)) => first(line, plaintext),
            _ => [0; 64],
        },
    };
    let instead = |&(media, found): &(MediaLine, Found)| DrainedWrite {
        media,
        bytes: read(found),
        carries: None,
        in_the_clear: false,
    };
    misread.iter().map(instead).collect()
}
