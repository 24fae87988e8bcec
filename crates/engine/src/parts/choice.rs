//! A part whose value is one of several names: its name in a file, its meaning and the paper it comes from.

use schemars::{JsonSchema, SchemaGenerator};
use strum::{EnumProperty, VariantArray};

/// One of several named values. The name is the variant's name in kebab case, the meaning is its doc comment and the
/// paper is its property `paper`: all three come from the definition of the type.
pub trait Choice:
    VariantArray + JsonSchema + EnumProperty + Copy + PartialEq + Into<&'static str> + Send + Sync
{
    /// The value's name in a design file.
    fn name(self) -> &'static str {
        self.into()
    }

    /// What the value means, in sentences.
    fn meaning(self) -> String {
        let schema = Self::json_schema(&mut SchemaGenerator::default());
        let mut values = schema.get("oneOf").and_then(|values| values.as_array()).into_iter().flatten();
        let of_this = values.find(|value| value["const"].as_str() == Some(self.name()));
        of_this.and_then(|value| value["description"].as_str()).map(on_one_line).unwrap_or_default()
    }

    /// What the part decides, in sentences: the doc comment of its type.
    fn decides() -> String {
        let schema = Self::json_schema(&mut SchemaGenerator::default());
        schema.get("description").and_then(|told| told.as_str()).map(on_one_line).unwrap_or_default()
    }

    /// Paper and section, "seeded fault" for a value that no paper's design has, or an empty string.
    fn paper(self) -> &'static str {
        self.get_str("paper").unwrap_or_default()
    }

    /// The value called `name`.
    fn named(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|value| value.name() == name)
    }
}

impl<T> Choice for T where
    T: VariantArray + JsonSchema + EnumProperty + Copy + PartialEq + Into<&'static str> + Send + Sync
{
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
