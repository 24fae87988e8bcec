//! Suggestions for names that were probably meant.

use super::excerpt::shown_name;
use crate::kernel::ConfigError;

/// The candidate that is most similar to `name`, if it is close enough to be a typing error or begins with `name`.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let distance = |candidate: &str| match length >= 3 && candidate.starts_with(name) {
        true => 1,
        false => strsim::damerau_levenshtein(name, candidate),
    };
    // A name may be of any length; the distance is at least the difference of the lengths.
    let close = |candidate: &&str| length < 3 || candidate.chars().count() * 3 + 3 >= length * 2;
    candidates
        .into_iter()
        .filter(close)
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= 1 + length / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The error for a name that is not in `known`: "design 'secpn' does not exist: did you mean 'secpm'? (known: ...)".
pub fn unknown_name(what: &str, name: &str, known: &[&str]) -> ConfigError {
    let (list, meant) = (known.join(", "), nearest(name, known.iter().copied()));
    let name = shown_name(name);
    ConfigError(match meant {
        Some(meant) => format!("{what} '{name}' does not exist: did you mean '{meant}'? (known: {list})"),
        None => format!("{what} '{name}' does not exist (known: {list})"),
    })
}

/// The longest list of names that is short.
const SHORT: usize = 8;

/// A sentence of [`unknown_name`] in which a long list of names is their number, if one that was probably meant is named.
pub fn without_long_list(sentence: &str) -> String {
    let list = sentence.split_once("'? (known: ").and_then(|(said, rest)| Some((said, rest.split_once(')')?)));
    match list {
        Some((said, (names, rest))) if names.split(", ").count() > SHORT => {
            format!("{said}'? ({} are known){rest}", names.split(", ").count())
        }
        _ => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["secpm", "secpm-no-cwr", "write-back"];
        assert_eq!(nearest("secpn", known), Some("secpm"));
        assert_eq!(nearest("writeback", known), Some("write-back"));
        assert_eq!(nearest("secmp-no-crw", known), Some("secpm-no-cwr"));
        assert_eq!(nearest("secpm-no", known), Some("secpm-no-cwr"));
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("write-backwards!", known), Some("write-back"), "the farthest that counts");
        assert_eq!(nearest(&"secpm".repeat(1 << 20), known), None);
        assert_eq!(
            unknown_name("design", "secpn", &known).0,
            "design 'secpn' does not exist: did you mean 'secpm'? (known: secpm, secpm-no-cwr, write-back)"
        );
        assert_eq!(
            unknown_name("design", "foo", &known).0,
            "design 'foo' does not exist (known: secpm, secpm-no-cwr, write-back)"
        );
        let many: Vec<&str> = "aa bb cc dd ee gg hh secpm secpm-no-cwr".split(' ').collect();
        let said = |name, known| without_long_list(&unknown_name("design", name, known).0);
        assert_eq!(said("secpn", &many), "design 'secpn' does not exist: did you mean 'secpm'? (9 are known)");
        assert_eq!(
            said("secpn", &many[1..]),
            unknown_name("design", "secpn", &many[1..]).0,
            "a list of eight is short"
        );
        assert_eq!(said("foo", &many), unknown_name("design", "foo", &many).0, "nothing else would help");
    }
}
