//! The architecture: which module imports which, and no stage names a design.

use super::common::sources::{SourceFile, attributes_of, is_for_tests, place_of, sources_of, without_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::{Item, ItemMod, UseTree};

/// Every module (room), from the lowest up, and the modules that it imports. A module is above all that it imports, so
/// no import goes up and there is no cycle.
const ROOMS: &[(&str, &str)] = &[
    ("kernel", ""),
    ("output", ""),
    ("stats", ""),
    ("message", "kernel"),
    ("layout", "message"),
    ("config", "kernel message layout"),
    ("cipher", "kernel message layout"),
    ("parts", "message layout config"),
    ("workload", "kernel message config"),
    ("trace", "kernel output message"),
    ("cpu", "kernel message config"),
    ("cache", "kernel message config parts"),
    ("controller", "kernel message layout config parts"),
    ("device", "kernel message layout config"),
    ("mechanism", "message layout config cipher parts"),
    ("design", "kernel config parts"),
    ("recovery", "message layout parts"),
    ("audit", "kernel message layout parts"),
    ("timeline", "kernel output stats message layout"),
    ("attribution", "kernel stats message trace"),
    (
        "assembly",
        "kernel stats message layout config cipher parts cpu cache controller device mechanism recovery audit timeline",
    ),
    ("power", "kernel message layout config parts controller device recovery assembly"),
    ("embed", "kernel stats message config parts controller device design recovery assembly power"),
    ("run", "kernel output stats message layout config parts workload trace cpu cache assembly embed"),
    ("check", "kernel message config parts trace attribution run"),
    ("user_recovery", "kernel output message trace"),
    (
        "crash",
        "kernel stats message layout config cipher parts workload trace controller design recovery audit attribution \
         assembly power run user_recovery",
    ),
    ("legal_states", "kernel message layout config parts recovery audit assembly run crash"),
    (
        "recorded_states",
        "kernel message layout config parts trace recovery audit attribution assembly run user_recovery crash \
         legal_states",
    ),
    ("crash_view", "kernel message layout recovery audit assembly power run crash"),
    ("prove", "kernel stats message config parts workload audit run crash"),
    (
        "recovery_cost",
        "kernel message layout config parts trace cache controller device recovery assembly power embed run",
    ),
    (
        "api",
        "kernel stats message config parts workload trace design timeline attribution assembly run check user_recovery \
         crash legal_states recorded_states crash_view prove recovery_cost",
    ),
];

/// ARCHITECTURE.md draws the rooms in the order in which they import each other, and no others.
#[test]
fn drawing_has_every_room_in_its_order() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md")).unwrap();
    let (_, drawing) = page.split_once("    crates/engine/src/ ").unwrap();
    let names = drawing.lines().skip(1).map_while(|line| line.strip_prefix("      "));
    let names = names.filter_map(|line| line.split_once('/')).map(|(name, _)| name);
    let drawn: Vec<&str> = names.filter(|name| !name.contains(' ')).collect();
    assert_eq!(drawn, ROOMS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// Stages and their judges decide nothing by a design's name.
const WITHOUT_DESIGNS: [&str; 10] =
    ["workload", "trace", "cpu", "cache", "controller", "device", "mechanism", "audit", "recovery", "crash"];

/// The most lines of a file.
const LINES_MAX: usize = 520;
/// The most lines of a test module inside the file that it tests; a longer one must be a separate file.
const INLINE_TESTS_MAX: usize = 150;

/// The sources of the program, without files and items that are compiled only for tests.
fn program() -> Vec<(PathBuf, String)> {
    let program = sources_of("engine").into_iter().filter(|file| !file.for_tests);
    program.map(|file| (file.path.clone(), without_tests(&file))).collect()
}

fn room_of(path: &Path) -> &str {
    let first = path.iter().next().and_then(|name| name.to_str()).expect("a path in UTF-8");
    first.trim_end_matches(".rs")
}

/// The modules that a text names.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("crate::").map(|(at, found)| {
        let rest = &text[at + found.len()..];
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
    })
}

#[test]
fn every_room_is_drawn_above_what_it_imports() {
    let mut below: Vec<&str> = Vec::new();
    for (room, imported) in ROOMS {
        let up: Vec<&str> = imported.split_whitespace().filter(|name| !below.contains(name)).collect();
        assert!(up.is_empty(), "{room} imports {up:?}, which are not drawn below it");
        below.push(room);
    }
    let there: BTreeSet<String> =
        sources_of("engine").iter().map(|file| room_of(&file.path).to_owned()).filter(|room| room != "lib").collect();
    assert_eq!(
        there,
        below.iter().map(|room| (*room).to_owned()).collect(),
        "the rooms drawn and those that are there"
    );
}

#[test]
fn room_imports_what_is_drawn_and_nothing_else() {
    let program = program();
    for (room, drawn) in ROOMS {
        let drawn: BTreeSet<&str> = drawn.split_whitespace().collect();
        let of_room = program.iter().filter(|(path, _)| room_of(path) == *room);
        let found: BTreeSet<&str> = of_room.flat_map(|(_, text)| imports(text)).filter(|name| name != room).collect();
        assert_eq!(found, drawn, "what {room} imports, and what is drawn");
    }
}

/// The paths that a `use` names, without their last part if that is `*`.
fn paths_of(tree: &UseTree, before: &Path) -> Vec<PathBuf> {
    match tree {
        UseTree::Path(path) => paths_of(&path.tree, &before.join(path.ident.to_string())),
        UseTree::Group(group) => group.items.iter().flat_map(|item| paths_of(item, before)).collect(),
        UseTree::Name(name) => vec![before.join(name.ident.to_string())],
        UseTree::Rename(name) => vec![before.join(name.ident.to_string())],
        UseTree::Glob(_) => vec![before.to_owned()],
    }
}

/// The module that `path`, named in `module`, is in: of all `modules`, the deepest above it.
fn module_of<'a>(path: &Path, module: &Path, modules: &'a BTreeSet<PathBuf>) -> Option<&'a PathBuf> {
    let mut place = module.to_owned();
    for name in path {
        match name.to_str() {
            Some("crate") => place = PathBuf::new(),
            Some("self") => {}
            Some("super") => drop(place.pop()),
            _ => place.push(name),
        }
    }
    place.ancestors().find_map(|above| modules.get(above))
}

/// The modules of a room that import each other in a circle, and those that import them.
fn modules_in_circles(room: &str) -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
    let files = sources_of("engine").into_iter().filter(|file| room_of(&file.path) == room && !file.for_tests);
    let files: Vec<SourceFile> = files.collect();
    let modules: BTreeSet<PathBuf> = files.iter().map(|file| place_of(&file.path)).collect();
    let mut left: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for file in &files {
        let module = place_of(&file.path);
        let uses =
            file.syntax.items.iter().filter_map(|item| if let Item::Use(of) = item { Some(&of.tree) } else { None });
        let imported = uses.flat_map(|tree| paths_of(tree, Path::new("")));
        let imported = imported.filter_map(|path| module_of(&path, &module, &modules)).filter(|name| **name != module);
        left.insert(module.clone(), imported.cloned().collect());
    }
    loop {
        let free = left.iter().find(|(_, imported)| imported.iter().all(|name| !left.contains_key(name)));
        let Some(free) = free.map(|(module, _)| module.clone()) else { return left };
        left.remove(&free);
    }
}

#[test]
fn no_files_of_the_auditors_import_each_other_in_a_circle() {
    assert_eq!(modules_in_circles("audit"), BTreeMap::new());
}

#[test]
fn no_stage_names_a_design() {
    let names: Vec<String> = counterpoint_engine::design::names().map(|name| format!("\"{name}\"")).collect();
    for (path, text) in program().iter().filter(|(path, _)| WITHOUT_DESIGNS.contains(&room_of(path))) {
        for name in &names {
            assert!(!text.contains(name.as_str()), "{} names the design {name}", path.display());
        }
    }
}

#[test]
fn every_file_can_be_read_in_one_sitting() {
    for file in sources_of("engine") {
        let lines = file.text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", file.path.display());
        assert!(file.text.starts_with("//!"), "{} does not open with what it is", file.path.display());
    }
}

/// Whether a file is in a place for tests: it is called `tests.rs`, or is in a folder called `tests`.
fn lies_with_tests(path: &Path) -> bool {
    path.with_extension("").iter().any(|name| name == "tests")
}

/// What in a file's items violates the convention for tests; the file is not for tests only.
fn stray_tests(items: &[Item]) -> Vec<String> {
    let mut stray = Vec::new();
    for item in items {
        match item {
            Item::Mod(ItemMod { attrs, ident, content, .. }) if is_for_tests(attrs) => {
                let lines = item.span().end().line - item.span().start().line + 1;
                if ident != "tests" {
                    stray.push(format!("module {ident} is for tests and not called tests"));
                } else if content.is_some() && lines > INLINE_TESTS_MAX {
                    stray.push(format!("{lines} lines of tests are too long to stand here"));
                }
            }
            item if is_for_tests(attributes_of(item)) => {
                stray.push(format!("line {}: what is for tests belongs in a module tests", item.span().start().line));
            }
            Item::Mod(ItemMod { content: Some((_, items)), .. }) => stray.extend(stray_tests(items)),
            _ => {}
        }
    }
    stray
}

#[test]
fn tests_and_what_they_use_lie_in_modules_called_tests() {
    for name in ["engine", "python", "c", "web"] {
        for file in sources_of(name) {
            let place = format!("crates/{name}/src/{}", file.path.display());
            match lies_with_tests(&file.path) {
                true => assert!(file.for_tests, "{place} lies with tests and is compiled without them"),
                false => assert!(!file.for_tests, "{place} is compiled for tests only and does not lie with them"),
            }
            if !file.for_tests {
                assert_eq!(stray_tests(&file.syntax.items), [] as [String; 0], "{place}");
            }
        }
    }
}

#[test]
fn tests_are_told_from_the_program_wherever_they_stand() {
    let text = "//! A.\nuse a;\n#[cfg(test)]\nmod apart;\nfn f() {}\n/// Told.\n#[cfg(test)]\n#[rustfmt::skip]\nmod tests {\n    fn g() {}}\n\
                use crate::b::C;\n#[cfg(test)] struct S;\nimpl T {\n    fn h() {}\n    #[cfg(test)]\n    fn i() {}\n}\n#[cfg(unix)]\nmod d {}\n";
    let syntax = syn::parse_file(text).expect("valid");
    let stray = stray_tests(&syntax.items);
    assert!(stray[0].contains("apart") && stray[1].starts_with("line 12") && stray.len() == 2, "{stray:?}");
    let file = SourceFile { path: PathBuf::from("x.rs"), text: text.to_owned(), syntax, for_tests: false };
    let body = without_tests(&file);
    let left = "//! A.\nuse a;\nfn f() {}\nuse crate::b::C;\nimpl T {\n    fn h() {}\n}\n#[cfg(unix)]\nmod d {}\n";
    assert_eq!(body, left);
    assert_eq!(imports(&body).collect::<Vec<_>>(), ["b"]);
    let long = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "fn f() {}\n".repeat(INLINE_TESTS_MAX));
    assert_eq!(stray_tests(&syn::parse_file(&long).expect("valid").items).len(), 1);
    assert!(lies_with_tests(Path::new("a/tests.rs")) && lies_with_tests(Path::new("a/tests/b.rs")));
    assert!(!lies_with_tests(Path::new("a/unit_tests.rs")) && !lies_with_tests(Path::new("a/test.rs")));
}

/// Nouns that readers meet in every room. Each is one type.
const NOUNS: [&str; 6] = ["Counter", "Request", "Scene", "Source", "Timeline", "WritePath"];

#[test]
fn noun_of_the_house_is_defined_once() {
    let mut defined: BTreeMap<&str, Vec<PathBuf>> = NOUNS.map(|noun| (noun, Vec::new())).into();
    for file in sources_of("engine") {
        let names = file.syntax.items.iter().filter_map(|item| match item {
            Item::Struct(of) => Some(&of.ident),
            Item::Enum(of) => Some(&of.ident),
            Item::Trait(of) => Some(&of.ident),
            Item::Type(of) => Some(&of.ident),
            _ => None,
        });
        for name in names.map(ToString::to_string) {
            if let Some(places) = defined.get_mut(name.as_str()) {
                places.push(file.path.clone());
            }
        }
    }
    for (noun, places) in defined {
        assert_eq!(places.len(), 1, "{noun}: {places:?}");
    }
}
