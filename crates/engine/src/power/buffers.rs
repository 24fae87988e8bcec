//! What modules that encrypt make of their buffers when power fails: of the lines that were there, and of those that the write
//! pending queue has sent them at the last moment.

use super::Drained;
use crate::message::{Content, DrainedWrite, Line, MediaLine};
use crate::parts::{BufferSave, Stored};
use crate::recovery::{LineCodec, Media, Memory};
use std::collections::BTreeSet;

/// Adds to `drained` how the `buffered` lines, and those that have drained, get to the media.
pub(super) fn save(
    drained: &mut Drained,
    buffered: &[MediaLine],
    media: &dyn Media,
    codec: &dyn LineCodec,
    save: BufferSave,
) {
    let queued = &drained.snapshot.wpq;
    let mut memory = Memory::new(media);
    queued.iter().for_each(|(media, bytes)| memory.store(*media, bytes));
    let all = queued.iter().map(|(media, _)| media).chain(buffered);
    let lines: BTreeSet<Line> = all.filter_map(|media| media.as_line()).collect();
    let saved = lines.into_iter().filter_map(|line| {
        let media = MediaLine::data(line);
        let Content::Stored(stored) = memory.content(media) else { return None };
        let plaintext = codec.decrypt(line, &Stored::whole(*stored), &[0; 64], None);
        let in_the_clear = save == BufferSave::InTheClear;
        let bytes = if in_the_clear { plaintext } else { *stored };
        Some(DrainedWrite { media, bytes, carries: Some((line, plaintext)), in_the_clear })
    });
    let saved: Vec<DrainedWrite> = saved.collect();
    for write in saved.iter().filter(|write| write.in_the_clear) {
        drained.snapshot.wpq.push((write.media, write.bytes));
        drained.snapshot.plain.extend(write.media.as_line());
    }
    drained.snapshot.plain.sort_unstable();
    drained.snapshot.plain.dedup();
    drained.left.extend(saved);
}
