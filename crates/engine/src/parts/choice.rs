//! A part that is one of several named values: what its values are called, what each means and which paper has it.

use strum::{EnumMessage, EnumProperty, VariantArray};

/// One of several named values. The name is the variant's in kebab case, the meaning its documentation, the paper its
/// property `paper`; all three come from the definition of the type.
pub trait Choice:
    VariantArray + EnumMessage + EnumProperty + Copy + PartialEq + Into<&'static str> + Send + Sync
{
    /// Its name in a design file.
    fn name(self) -> &'static str {
        self.into()
    }

    /// What it means.
    fn meaning(self) -> String {
        self.get_documentation().unwrap_or_default().trim().replace('\n', " ")
    }

    /// Paper and section, "seeded fault" for what no design is meant to have, or nothing.
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
