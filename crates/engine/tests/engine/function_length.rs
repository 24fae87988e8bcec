//! No function of the program is longer than what fits on a page.

use super::common::sources::{SourceFile, attributes_of, is_for_tests, sources_of};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, Item, ItemFn, Signature, TraitItemFn};

/// The most lines of a function, from its signature to its closing brace.
const LINES_MAX: usize = 70;

/// Functions that are longer, each with its file.
const LONGER: &[(&str, &str)] = &[];

/// The crates whose functions are measured.
const CRATES: [&str; 4] = ["engine", "python", "c", "web"];

/// The lengths of a file's functions, without those for tests.
#[derive(Default)]
struct Lengths(Vec<(String, usize)>);

impl Lengths {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let lines = block.span().end().line - signature.span().start().line + 1;
        self.0.push((signature.ident.to_string(), lines));
    }

    fn of(file: &syn::File) -> Vec<(String, usize)> {
        let mut lengths = Self::default();
        lengths.visit_file(file);
        lengths.0
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }
    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            self.add(&function.sig, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }
    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[test]
fn no_function_is_longer_than_a_page() {
    let mut too_long = Vec::new();
    let mut measured = 0;
    for name in CRATES {
        for SourceFile { path, syntax, .. } in sources_of(name).into_iter().filter(|file| !file.for_tests) {
            let path = format!("crates/{name}/src/{}", path.display());
            let lengths = Lengths::of(&syntax);
            measured += lengths.len();
            too_long.extend(
                lengths
                    .into_iter()
                    .filter(|(_, lines)| *lines > LINES_MAX)
                    .map(|(function, lines)| (path.clone(), function, lines)),
            );
        }
    }
    assert!(measured > 1_000, "{measured} functions measured");
    let allowed = |path: &str, function: &str| LONGER.contains(&(path, function));
    let news: Vec<_> = too_long.iter().filter(|(path, function, _)| !allowed(path, function)).collect();
    assert!(news.is_empty(), "longer than {LINES_MAX} lines: {news:#?}");
    let is_there =
        |(path, function): &&(&str, &str)| too_long.iter().any(|(at, name, _)| at == path && name == function);
    let stale: Vec<_> = LONGER.iter().filter(|known| !is_there(known)).collect();
    assert!(stale.is_empty(), "no longer than {LINES_MAX} lines any more: {stale:?}");
}

#[test]
fn lengths_are_counted_from_signature_to_brace_and_tests_are_left_out() {
    let text = "/// Told.\n#[inline]\npub fn one() {}\n\nimpl A {\n    fn three(\n        &self,\n    ) {}\n\n    #[cfg(test)]\n    fn no() {}\n}\n\n\
                trait B {\n    fn none(&self);\n    fn two(&self) {\n    }\n}\n\nfn outer() {\n    fn inner() {}\n}\n\n\
                #[cfg(test)]\nmod tests {\n    fn no() {}\n}\n";
    let lengths = Lengths::of(&syn::parse_file(text).expect("valid"));
    let lengths: Vec<_> = lengths.iter().map(|(name, lines)| (name.as_str(), *lines)).collect();
    assert_eq!(lengths, [("one", 1), ("three", 3), ("two", 2), ("outer", 3), ("inner", 1)]);
}
