//! What a user wrote, fit for a sentence.

/// The most characters of a name, a key or a value that an error shows.
pub const SHOWN_CHARS_MAX: usize = 100;

/// `text` on one line: control characters escaped, and of what is longer than `chars_max` the beginning.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    let mut rest = text.chars();
    let mut shown = String::new();
    for character in rest.by_ref().take(chars_max) {
        if character.is_control() { shown.extend(character.escape_debug()) } else { shown.push(character) }
    }
    if rest.next().is_some() {
        shown.push_str("...");
    }
    shown
}

/// The same for a name, a key or a value.
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
        assert_eq!(excerpt("\n\n\n", 2), "\\n\\n...");
    }
}
