//! The stack of a store, which pmemcheck logs after it with `--log-stores-stacktraces=yes`: frames, innermost first, as
//! Valgrind describes code. A semicolon precedes each; functions that are inlined at one address follow one another
//! without one.
//!
//! ```text
//! ;0x109A3F: set (list.h:12)0x109A3F: insert(Node*) (list.cc:44);0x48B10E4: ??? (in /usr/lib/libx.so);0x109B01: ???
//! ```

use super::super::told::Told;
use std::ops::Range;

/// The stack at the start of `text`, and what follows it; nothing may follow unless `glued`, a message of Valgrind. `None`
/// if a frame is malformed.
pub fn split(text: &[u8], glued: bool) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    while let Some(frame) = next_frame(text, at) {
        let whole = &text[frame.clone()];
        if parse(whole).is_some() {
            at = frame.end;
            continue;
        }
        if !glued || frame.end < text.len() {
            return None;
        }
        // The message follows the frame without a separator.
        let ends = whole.iter().enumerate().filter(|(_, byte)| matches!(byte, b')' | b'?')).map(|(end, _)| end + 1);
        let end = ends.into_iter().find(|&end| parse(&whole[..end]).is_some())?;
        return Some(text.split_at(frame.start + end));
    }
    (at == text.len() || glued).then(|| text.split_at(at))
}

/// The frames of a stack that [`split`] has found.
pub fn frames(stack: &[u8]) -> Vec<Told> {
    let mut at = 0;
    let mut all = Vec::new();
    while let Some(frame) = next_frame(stack, at) {
        at = frame.end;
        all.extend(parse(&stack[frame]));
    }
    all
}

/// Where in `text` the frame lies that begins at `at`, after its semicolon if it has one. It ends where another begins.
fn next_frame(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + usize::from(text.get(at) == Some(&b';'));
    let (_, body) = address(text.get(start..)?)?;
    let begins = |at: usize| match text[at] {
        b';' => address(&text[at + 1..]).is_some(),
        b'0' => matches!(text[at - 1], b')' | b'?') && address(&text[at..]).is_some(),
        _ => false,
    };
    let end = (text.len() - body.len()..text.len()).find(|&at| begins(at)).unwrap_or(text.len());
    Some(start..end)
}

/// The address in `0xADDRESS: `, and what follows.
fn address(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.strip_prefix(b"0x")?;
    let length = digits.iter().take(17).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let number = std::str::from_utf8(&digits[..length]).ok()?;
    Some((u64::from_str_radix(number, 16).ok()?, digits[length..].strip_prefix(b": ")?))
}

/// Parses `0xADDRESS: function (file:line)`, `0xADDRESS: function (in object)` or `0xADDRESS: ???`; what is not known is
/// `???` in each.
fn parse(frame: &[u8]) -> Option<Told> {
    let (address, body) = address(frame)?;
    let known = |text: &[u8]| (text != b"???").then(|| String::from_utf8_lossy(text).into_owned());
    if body == b"???" {
        return Some(Told { address, function: None, source: None, object: None });
    }
    let inner = body.strip_suffix(b")")?;
    let places = || (1..inner.len()).rev().filter(|&at| inner[at..].starts_with(b" (")).map(|at| inner.split_at(at));
    // Names of functions and files may have parentheses of their own.
    let found = places().find(|(_, place)| is_place(place) && is_balanced(&place[2..]));
    let (function, place) = found.or_else(|| places().find(|(_, place)| is_place(place)))?;
    let (place, function) = (&place[2..], known(function));
    if let Some(object) = place.strip_prefix(b"in ") {
        return Some(Told { address, function, source: None, object: known(object) });
    }
    let (file, line) = file_and_line(place)?;
    Some(Told { address, function, source: known(file).map(|file| (file, line)), object: None })
}

/// Whether ` (text` says where code is.
fn is_place(text: &[u8]) -> bool {
    let text = &text[2..];
    text.strip_prefix(b"in ").is_some_and(|object| !object.is_empty()) || file_and_line(text).is_some()
}

fn file_and_line(text: &[u8]) -> Option<(&[u8], u32)> {
    let colon = text.iter().rposition(|&byte| byte == b':').filter(|&colon| colon > 0)?;
    let digits = &text[colon + 1..];
    let number = digits.iter().all(u8::is_ascii_digit).then(|| std::str::from_utf8(digits).ok())??;
    Some((&text[..colon], number.parse().ok()?))
}

/// Whether each parenthesis that closes has been opened.
fn is_balanced(text: &[u8]) -> bool {
    let mut open = 0u32;
    text.iter().all(|byte| match byte {
        b'(' => {
            open += 1;
            true
        }
        b')' => {
            let opened = open > 0;
            open = open.saturating_sub(1);
            opened
        }
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::super::stack::*;
    use proptest::prelude::*;

    fn told(address: u64, function: &str, source: &str, object: &str) -> Told {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let source = source.rsplit_once(':').map(|(file, line)| (file.to_owned(), line.parse().unwrap()));
        Told { address, function: known(function), source, object: known(object) }
    }

    #[test]
    fn every_form_of_a_frame() {
        let text = b";0x109A3F: set (list.h:12)0x109A3F: insert(Node*, void (*)(int)) (list.cc:44);0x48B: ??? (in /usr/lib/x.so)\
            ;0x5: really (in ???);0x6: ??? (a.c:20);0x7: ???;0x8: (below main) (libc-start.c:308);0x9: f (??? :1)\
            ;0xA: <[T; 4] as core::ops::BitOr>::bitor (src/a b (c).rs:7);0xB: f (in /opt/x (old)/l.so);0xC: a::operator|(int) (o.c:1)";
        assert_eq!(split(text, false), Some((&text[..], &b""[..])));
        let wanted = [
            told(0x10_9a3f, "set", "list.h:12", ""),
            told(0x10_9a3f, "insert(Node*, void (*)(int))", "list.cc:44", ""),
            told(0x48b, "", "", "/usr/lib/x.so"),
            told(5, "really", "", ""),
            told(6, "", "a.c:20", ""),
            told(7, "", "", ""),
            told(8, "(below main)", "libc-start.c:308", ""),
            told(9, "f", "??? :1", ""),
            told(10, "<[T; 4] as core::ops::BitOr>::bitor", "src/a b (c).rs:7", ""),
            told(11, "f", "", "/opt/x (old)/l.so"),
            told(12, "a::operator|(int)", "o.c:1", ""),
        ];
        assert_eq!(frames(text), wanted);
    }

    #[test]
    fn message_may_follow_the_last_frame() {
        for stack in ["", ";0x1: main (a.c:7)", ";0x1: ???", ";0x1: f(int) (in /x);0x2: main (a.c:7)"] {
            for message in ["brk segment overflow (see a manual)", "Warning: x", ""] {
                let text = format!("{stack}{message}");
                assert_eq!(split(text.as_bytes(), true), Some((stack.as_bytes(), message.as_bytes())), "{text}");
            }
        }
    }

    #[test]
    fn malformed_stacks_are_none() {
        for text in [
            "main.c:5",
            ";0x1",
            ";0x1:",
            ";0x1: ",
            ";0x1: main",
            ";0x1: main (a.c)",
            ";0x1: main (a.c:)",
            ";0x1: main (:3)",
            ";0x1: main (a.c:4294967296)",
            ";0x1: main (in )",
            ";1: main (a.c:7)",
            ";0x10000000000000000: main (a.c:7)",
            ";0x1: main (a.c:7)x",
            ";0x1: main (a.c:7);x",
            ";0x1: main (a.c:7) ;0x2: ???",
        ] {
            assert_eq!(split(text.as_bytes(), false), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_survived(text in "(;?0x[0-9A-F]{1,3}: |[a-z?();: ]|in |\\?\\?\\?|:7\\)){0,30}", glued: bool) {
            if let Some((stack, rest)) = split(text.as_bytes(), glued) {
                prop_assert_eq!(stack.len() + rest.len(), text.len());
                prop_assert!(glued || rest.is_empty());
                prop_assert_eq!(frames(stack).is_empty(), stack.is_empty());
            }
        }
    }
}
