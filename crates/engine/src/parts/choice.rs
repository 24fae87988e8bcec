//! A part whose value is one of several names: its name in a file, its meaning and the paper it comes from.

use strum::{EnumMessage, EnumProperty, VariantArray};

/// One of several named values. The name is the variant's name in kebab case, the meaning is its doc comment and the
/// paper is its property `paper`: all three come from the definition of the type.
pub trait Choice:
    VariantArray + EnumMessage + EnumProperty + Copy + PartialEq + Into<&'static str> + Send + Sync
{
    /// The value's name in a design file.
    fn name(self) -> &'static str {
        self.into()
    }

    /// What the value means, in sentences.
    fn meaning(self) -> String {
        self.get_documentation().unwrap_or_default().trim().replace('\n', " ")
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
    T: VariantArray + EnumMessage + EnumProperty + Copy + PartialEq + Into<&'static str> + Send + Sync
{
}
