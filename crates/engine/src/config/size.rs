//! Sizes as people write them: `64`, `64B`, `4KiB`, `256MiB`, `2GiB`.

use super::excerpt::shown_name;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let explain = || {
            let shown = shown_name(text);
            format!("size '{shown}' is not a whole number of bytes with an optional unit B, KiB, MiB, GiB or TiB")
        };
        let number: u64 = number.parse().map_err(|_| explain())?;
        let scale = if unit.is_empty() {
            1
        } else {
            UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale).ok_or_else(explain)?
        };
        number
            .checked_mul(scale)
            .map(ByteSize)
            .ok_or_else(|| format!("size '{}' is larger than 2^64 bytes", shown_name(text)))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) =
            UNITS.iter().find(|(_, scale)| self.0 >= *scale && self.0.is_multiple_of(*scale)).unwrap_or(&("B", 1));
        write!(f, "{}{}", self.0 / scale, unit)
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(bytes) => Ok(ByteSize(bytes)),
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["integer", "string"], "minimum": 0, "maximum": u64::MAX, "pattern": "^[0-9]+(B|KiB|MiB|GiB|TiB)?$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [("64", 64), ("64B", 64), ("4KiB", 4096), ("2GiB", 2 << 30), ("0064", 64)] {
            assert_eq!(text.parse::<ByteSize>().unwrap(), ByteSize(bytes), "{text}");
        }
        for text in ["", "-1", "4KB", "1.5GiB", "99999999999GiB", "GiB", "1_024", "+64", " 64", "2 GiB", "\u{661}"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        for bytes in [0, 1, 63, 64, 4096, 4097, 1 << 30, 3 << 40] {
            assert_eq!(ByteSize(bytes).to_string().parse::<ByteSize>().unwrap(), ByteSize(bytes));
        }
    }
}
