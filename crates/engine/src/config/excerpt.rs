//! Shortens user input so that an error sentence can quote it.

/// The most characters that an error shows of a name, a key or a value.
pub const SHOWN_CHARS_MAX: usize = 100;

/// `text` on one line: control characters are escaped, and a result longer than `chars_max` is cut off.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    let mut shown = String::new();
    let mut left = chars_max;
    for character in text.chars() {
        let before = shown.len();
        let width = if character.is_control() {
            shown.extend(character.escape_debug());
            shown.len() - before
        } else {
            shown.push(character);
            1
        };
        if width > left {
            shown.truncate(before);
            shown.push_str("...");
            break;
        }
        left -= width;
    }
    shown
}

/// A name, a key or a value on one line, cut off after `SHOWN_CHARS_MAX` characters.
pub fn shown_name(text: &str) -> String {
    excerpt(text, SHOWN_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_the_end_of_long_texts_left_out() {
        assert_eq!(shown_name("a\nb\u{1b}[0m\u{7f}ä'\""), "a\\nb\\u{1b}[0m\\u{7f}ä'\"");
        assert_eq!(excerpt("äbc", 3), "äbc");
        assert_eq!(excerpt("äbcd", 3), "äbc...");
        assert_eq!(excerpt("\n\n\n", 4), "\\n\\n...");
        assert_eq!(excerpt("\n\n", 4), "\\n\\n");
        assert_eq!(shown_name(&"\u{15}".repeat(300)), "\\u{15}".repeat(16) + "...");
    }
}
