//! The project's own Rust sources, parsed, and which parts of them exist only for tests.

use proc_macro2::LineColumn;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod};

/// A source file.
pub struct SourceFile {
    /// The path relative to the folder of the sources.
    pub path: PathBuf,
    pub text: String,
    pub syntax: syn::File,
    /// Whether it is compiled only for tests.
    pub for_tests: bool,
}

/// Every source file of the crate in folder `name` of `crates`, in the order of their paths.
pub fn sources_of(name: &str) -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    let mut paths = Vec::new();
    add_below(&root, &mut paths);
    paths.sort();
    let mut files: Vec<SourceFile> = paths.iter().map(|path| read(&root, path)).collect();
    let modules: BTreeSet<PathBuf> = files.iter().flat_map(modules_for_tests).collect();
    for file in &mut files {
        file.for_tests = place_of(&file.path).ancestors().any(|place| modules.contains(place));
    }
    files
}

fn add_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            add_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn read(root: &Path, path: &Path) -> SourceFile {
    let text = fs::read_to_string(path).expect("a readable source file");
    let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let path = path.strip_prefix(root).expect("below the root").to_owned();
    SourceFile { path, text, syntax, for_tests: false }
}

/// The path of a file's module: its folder for a `mod.rs`, otherwise its name without the extension.
pub fn place_of(path: &Path) -> PathBuf {
    match path.file_name().is_some_and(|name| name == "mod.rs" || name == "lib.rs") {
        true => path.parent().expect("a folder").to_owned(),
        false => path.with_extension(""),
    }
}

/// The paths of the modules in other files that `file` declares only for tests.
fn modules_for_tests(file: &SourceFile) -> impl Iterator<Item = PathBuf> {
    let place = place_of(&file.path);
    let declared = file.syntax.items.iter().filter_map(|item| match item {
        Item::Mod(ItemMod { attrs, ident, content: None, .. }) if is_for_tests(attrs) => Some(ident),
        _ => None,
    });
    declared.map(move |ident| place.join(ident.to_string()))
}

/// Whether `#[cfg(test)]` is among these attributes.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

/// The text of a file without the items marked `#[cfg(test)]`.
pub fn without_tests(file: &SourceFile) -> String {
    let mut found = ForTests::default();
    found.visit_file(&file.syntax);
    let is_left = |line: usize| !found.lines.iter().any(|(first, last)| (*first..=*last).contains(&line));
    let kept = file.text.lines().enumerate().filter(|(index, _)| is_left(index + 1));
    kept.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// The first and last lines of the parts for tests, counted from 1.
#[derive(Default)]
struct ForTests {
    lines: Vec<(usize, usize)>,
}

impl ForTests {
    /// Records `part` if it is for tests; returns whether it is.
    fn takes(&mut self, attributes: &[Attribute], part: &impl Spanned) -> bool {
        let takes = is_for_tests(attributes);
        if takes {
            let LineColumn { line: first, .. } = part.span().start();
            self.lines.push((first, part.span().end().line));
        }
        takes
    }
}

impl<'ast> Visit<'ast> for ForTests {
    fn visit_item(&mut self, item: &'ast Item) {
        if !self.takes(attributes_of(item), item) {
            visit::visit_item(self, item);
        }
    }
    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !self.takes(&function.attrs, function) {
            visit::visit_impl_item_fn(self, function);
        }
    }
}

/// The attributes of an item, if it can have any.
pub fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
